package place

import "orrery/scheduler/model"

// Idle is the set of nodes in service that nobody holds a part of, for reading
// until the next change.
func (f *Free) Idle() model.NodeSet { return f.idle }
