"""The topologies that ship with laneflow, as data; `graph.reading.shipped` finds them."""
