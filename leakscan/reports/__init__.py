"""Renderers of a Report, one module each: render(report, out)."""
