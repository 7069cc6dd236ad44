"""What symmetries are good for: conserved quantities, flows along them, larger networks."""
