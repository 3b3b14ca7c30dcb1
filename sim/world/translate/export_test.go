package translate

// Has says whether r is in the set.
func (s RuleSet) Has(r Rule) bool { return s>>r&1 != 0 }
