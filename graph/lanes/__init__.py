"""The workers that run a lane's program."""
