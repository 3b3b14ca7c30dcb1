package profiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ClusterDiff lists the keys in which two cluster files differ, in the order of the documents.
// Entries of lists are paired by their names where all have one, else by their place. Names,
// remarks and the sources of figures are not among them. Values are as files write them.
func ClusterDiff(a, b *Cluster) []Difference {
	before, after := a.keys(), b.keys()
	value := map[string]string{}
	for _, k := range before {
		value[k.path] = k.text
	}
	var out []Difference
	also := map[string]bool{}
	for _, k := range after {
		also[k.path] = true
	}
	at := 0
	gone := func(until string) { // keys that a alone has, up to a key that both have
		for ; at < len(before) && before[at].path != until; at++ {
			if !also[before[at].path] && !strings.HasSuffix(before[at].path, orderOf) {
				out = append(out, Difference{Key: before[at].path, Before: before[at].text})
			}
		}
		at++
	}
	for _, k := range after {
		old, both := value[k.path]
		if both {
			gone(k.path)
		}
		if old != k.text && !(strings.HasSuffix(k.path, orderOf) && !sameNames(old, k.text)) {
			out = append(out, Difference{Key: k.path, Before: old, After: k.text})
		}
	}
	gone("")
	return out
}

// keyText is a key with its value as a file writes it.
type keyText struct{ path, text string }

// keys are all that apply, at their default or not.
func (c *Cluster) keys() []keyText {
	bare := *c
	bare.Name, bare.Description, bare.Calibration = "", "", nil
	dec := json.NewDecoder(bytes.NewReader(bare.FullJSON()))
	dec.UseNumber()
	var out []keyText
	if err := flatten(dec, "", &out); err != nil {
		panic(err) // JSON that FullJSON wrote
	}
	return out
}

// flatten appends the values below one, which dec reads next, but those of the keys told, which
// stand in the path.
func flatten(dec *json.Decoder, path string, out *[]keyText, told ...string) error {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return err
	}
	switch raw[0] {
	case '{':
		within := json.NewDecoder(bytes.NewReader(raw))
		_, err := within.Token()
		for err == nil && within.More() {
			var key json.Token
			if key, err = within.Token(); err != nil {
				break
			}
			var skipped json.RawMessage
			if name, _ := key.(string); slices.Contains(told, name) {
				err = within.Decode(&skipped)
			} else {
				err = flatten(within, strings.TrimPrefix(path+"."+name, "."), out)
			}
		}
		return err
	case '[':
		return flattenList(raw, path, out)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	*out = append(*out, keyText{path, text})
	return nil
}

// flattenList appends the entries of a list of blocks; any other list is one value.
func flattenList(raw []byte, path string, out *[]keyText) error {
	var entries []json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return err
	}
	names, told := make([]string, len(entries)), make([][]string, len(entries))
	seen := map[string]bool{}
	for i, e := range entries {
		if e[0] != '{' {
			*out = append(*out, keyText{path, string(raw)})
			return nil
		}
		names[i], told[i] = entryName(e)
		if names[i] == "" || seen[names[i]] {
			clear(names)
			clear(told)
			break
		}
		seen[names[i]] = true
	}
	if len(names) > 1 && names[0] != "" {
		*out = append(*out, keyText{path + orderOf, strings.Join(names, ", ")})
	}
	for i, e := range entries {
		name := names[i]
		if name == "" {
			name = fmt.Sprint(i)
		}
		if err := flatten(json.NewDecoder(bytes.NewReader(e)), path+"["+name+"]", out, told[i]...); err != nil {
			return err
		}
	}
	return nil
}

// orderOf ends the key of the order of a list. It is a difference where both lists have the same
// entries: the first class of work that holds a job is its own, and of nodes order decides ties.
const orderOf = " (order)"

func sameNames(a, b string) bool {
	x, y := strings.Split(a, ", "), strings.Split(b, ", ")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// entryName is what tells an entry of a list from the others, and the keys that it is made of.
func entryName(raw []byte) (string, []string) {
	var e map[string]any
	if json.Unmarshal(raw, &e) != nil {
		return "", nil
	}
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { return e[k] == nil || e[k] == "" })
	}
	switch {
	case has("name"):
		return fmt.Sprint(e["name"]), []string{"name"}
	case has("nodes", "gpus", "groups", "time"): // of a step, by placement
		return fmt.Sprintf("nodes %v, gpus %v, groups %v", e["nodes"], e["gpus"], e["groups"]), []string{"nodes", "gpus", "groups"}
	case has("gpu"):
		return fmt.Sprint(e["gpu"]), []string{"gpu"}
	case has("draw"):
		return fmt.Sprint("draw ", e["draw"]), []string{"draw"}
	case has("class"):
		return fmt.Sprint("class ", e["class"]), []string{"class"}
	}
	return "", nil
}
