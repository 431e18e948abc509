"""Parts of tools/validate: what is measured (cells), on what (rig), in which order (sweep), and what it says (report)."""
