"""Trees, forests and what is simpler than they are."""
