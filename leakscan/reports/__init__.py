"""Renderers of a Report, one module each: render(report, out).

SUFFIX is that of the files it is written to; what is there already is written over only where it is a report of the
same format, of which the first and last 4 KB match OWN.
"""
