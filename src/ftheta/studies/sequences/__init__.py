"""Sequences: what recurrent nets remember, and what they count."""
