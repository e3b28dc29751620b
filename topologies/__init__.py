"""The topologies that ship with laneflow, as data; `graph.files.shipped` finds them."""
