package place

import "orrery/scheduler/model"

// Has says whether node n is idle: in service, and no job holds it or a GPU of
// it.
func (f *Free) Has(n model.NodeID) bool { return f.idle.Has(n) }

// Members is the set of nodes of a class, for reading only.
func (sp *Space) Members(class ClassID) model.NodeSet { return sp.classes[class].nodes }
