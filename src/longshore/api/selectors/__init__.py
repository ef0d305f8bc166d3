"""Label selectors (`labels`) and field selectors (`fields`): texts in, fast predicates out."""
