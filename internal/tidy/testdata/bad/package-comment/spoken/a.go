package spoken
