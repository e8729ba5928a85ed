"""File formats, one module each: sniff(head), read(entry), and where it can be written back write(items, out, like)."""
