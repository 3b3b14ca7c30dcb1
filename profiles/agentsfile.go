package profiles

import "reflect"

// agentsFile is a file of the section agents alone, such as one that was fitted to a record.
type agentsFile struct {
	Agents Agents `yaml:"agents" doc:"how long nodes take for what they are told"`
}

// WithAgents is the cluster with the keys of agents that a file gives; others stay as they are.
func (c *Cluster) WithAgents(file string, text []byte) (*Cluster, error) {
	var given agentsFile
	src, err := decode(file, text, &given)
	if err != nil {
		return nil, err
	}
	out := *c
	from, to := reflect.ValueOf(given.Agents), reflect.ValueOf(&out.Agents).Elem()
	for _, f := range fieldsOf(to.Type()) {
		if src.has(join("agents", f.key)) {
			to.FieldByIndex(f.Index).Set(from.FieldByIndex(f.Index))
		}
	}
	return &out, out.validate()
}

// LoadAgents is WithAgents of the file at a path.
func (c *Cluster) LoadAgents(path string) (*Cluster, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return c.WithAgents(path, text)
}
