package translate

import (
	"slices"
	"strings"
)

// Lack is what rows name and the site does not have, so that their jobs can never run.
type Lack struct {
	Column string
	Names  []string // the first few
	more   bool
}

// mostLacking is how many names of a column are kept: enough to tell what kind they are of.
const mostLacking = 5

// lackWords are what the names of a column are called, what is wrong with them, and what
// helps.
var lackWords = map[string][3]string{
	"features":     {"features", "which no node has", "add them under node_types or groups in the cluster file"},
	"counts":       {"features", "which count more nodes than their jobs have", "correct the rows"},
	"node_include": {"nodes", "which the cluster does not have", "add them under groups in the cluster file"},
	"node_exclude": {"nodes", "which are not understood", "correct the rows"},
	"partition":    {"partitions", "which the cluster does not have", "add them under partitions in the cluster file"},
	"qos":          {"qualities of service", "which the cluster does not have", "add them under qos in the cluster file"},
	"reservation":  {"reservations", "which the cluster does not have", "add them under reservations in the cluster file"},
	"tenant":       {"tenants", "which the cluster does not have", "add them under tenants in the cluster file"},
	"vcluster":     {"vClusters", "which the cluster does not have", "add them under vclusters in the cluster file"},
	"routing":      {"rows", "for which routing has no vCluster", "add them to routing, or say where all others go: *:NAME in --vcluster-of, or otherwise: NAME under routing in the cluster file"},
}

// String says what is missing.
func (l *Lack) String() string {
	w := lackWords[l.Column]
	text := w[0] + " " + strings.Join(l.Names, ", ")
	if l.more {
		text += " and others"
	}
	return text + ", " + w[1]
}

// Mend says what helps.
func (l *Lack) Mend() string { return lackWords[l.Column][2] }

// lacks notes a name in a column that the site does not have, once.
func (t *Site) lacks(column, name string) {
	k := slices.IndexFunc(t.lacking, func(l Lack) bool { return l.Column == column })
	if k < 0 {
		k = len(t.lacking)
		t.lacking = append(t.lacking, Lack{Column: column})
	}
	const longest = 80 // of a name in a message
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	switch l := &t.lacking[k]; {
	case slices.Contains(l.Names, name):
	case len(l.Names) < mostLacking:
		l.Names = append(l.Names, name)
	default:
		l.more = true
	}
}

// Lacking is what the rows that were met so far name and the site does not have.
func (t *Site) Lacking() []Lack { return t.lacking }
