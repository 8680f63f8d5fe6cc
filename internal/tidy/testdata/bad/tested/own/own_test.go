package own
