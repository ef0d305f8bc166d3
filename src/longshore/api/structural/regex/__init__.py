"""Go's regular expressions in linear time: `syntax` reads them, `automaton` runs them."""
