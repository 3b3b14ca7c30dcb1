package transform

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"orrery/traces"
)

// Document is what a trace keeps of its making, as JSON under orrery.recipe.
type Document struct {
	Version int     `json:"transform"`
	Hash    string  `json:"hash"` // of the version, the content of the inputs and the steps
	Inputs  []Input `json:"inputs"`
	// Steps are as people wrote them.
	Steps    []string   `json:"steps"`
	Accounts []*Account `json:"accounts,omitempty"`
}

func (s *Set) document(accounts []*Account) Document {
	d := Document{Version: version, Inputs: s.inputs, Steps: s.steps, Accounts: accounts}
	d.Hash = d.digest()
	return d
}

func (d *Document) digest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "orrery transform %d\n", d.Version)
	for _, in := range d.Inputs {
		fmt.Fprintf(sum, "input %s\n", in.Hash)
	}
	for _, s := range d.Steps {
		fmt.Fprintf(sum, "step %s\n", s)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (d *Document) text() (string, error) {
	b, err := json.Marshal(d)
	return string(b), err
}

// Made reads what a trace keeps of its making; false when it was not made by
// steps.
func Made(m traces.Meta) (d Document, ok bool) {
	err := json.Unmarshal([]byte(m.Recipe), &d)
	return d, err == nil && d.Version > 0 && d.Hash != ""
}

// nested is the recipe of a trace as it stands in that of another: JSON inside JSON
// as it is, so that a recipe grows by its own steps only. Recipes of earlier builds
// have their inputs' as quoted text at each level.
func nested(recipe string) json.RawMessage {
	switch {
	case recipe == "":
		return nil
	case !strings.HasPrefix(recipe, "{") || !json.Valid([]byte(recipe)):
		return quote(recipe)
	}
	d, ok := Made(traces.Meta{Recipe: recipe})
	if !ok {
		return json.RawMessage(recipe)
	}
	for i := range d.Inputs {
		d.Inputs[i].Recipe = nested(d.Inputs[i].recipe())
	}
	text, err := d.text()
	if err != nil {
		return quote(recipe)
	}
	return json.RawMessage(text)
}

func quote(text string) json.RawMessage {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return b
}

// recipe is the text of the input's own recipe, "" when it had none.
func (in *Input) recipe() string {
	var text string
	if json.Unmarshal(in.Recipe, &text) == nil {
		return text
	}
	return string(in.Recipe)
}

// History lists the steps that made a trace, those that made its inputs first, each
// as it was written. Behind the first input, which the steps go on with, a line
// begins with the name of the input (its hash where it has none) and a colon. The
// recipe of an input that no steps made is a line as it is.
func (d *Document) History() []string {
	var out []string
	for i := range d.Inputs {
		in := &d.Inputs[i]
		recipe := in.recipe()
		lines := []string{recipe}
		if made, ok := Made(traces.Meta{Recipe: recipe}); ok {
			lines = made.History()
		} else if recipe == "" {
			continue
		}
		prefix := ""
		if i > 0 {
			prefix = in.Name
			if prefix == "" {
				prefix = in.Hash[:min(len(in.Hash), 12)]
			}
			prefix += ": "
		}
		for _, line := range lines {
			out = append(out, prefix+line)
		}
	}
	return append(out, d.Steps...)
}
