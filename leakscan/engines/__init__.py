"""Where map and join run, one module each."""
