"""What labkit costs: each measure against its floor, the same work without labkit, in the same run."""
