package silent
