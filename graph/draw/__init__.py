"""Pictures of a topology: one layout, one file per format."""
