package profiles

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Kind is one of the kinds of files that this package reads.
type Kind string

// The kinds of files.
const (
	KindProfile    Kind = "profile"
	KindCluster    Kind = "cluster"
	KindExperiment Kind = "experiment"
	KindGate       Kind = "gate"
	KindScaling    Kind = "scaling"
	KindScenario   Kind = "scenario"
)

// Kinds lists them.
func Kinds() []Kind {
	return []Kind{KindProfile, KindCluster, KindExperiment, KindGate, KindScaling, KindScenario}
}

// typeOf is the struct that has the keys of a kind of file.
func typeOf(k Kind) reflect.Type {
	return map[Kind]reflect.Type{
		KindProfile: reflect.TypeFor[Profile](), KindCluster: reflect.TypeFor[Cluster](),
		KindExperiment: reflect.TypeFor[Experiment](), KindGate: reflect.TypeFor[Gate](), KindScaling: reflect.TypeFor[Scaling](),
		KindScenario: reflect.TypeFor[Scenario](),
	}[k]
}

// KindOf says which kind of file a text is by its outermost keys: that which has the
// most of them, the first of several. "" where no kind has any. A cluster file and a
// scenario both may have nothing but events: these are those of a scenario where one of
// them is of a kind, or has a key, that a cluster file does not have, and else of a
// cluster file (see MayBeScenario).
func KindOf(text []byte) Kind {
	best, most := Kind(""), 0
	for _, k := range Kinds() {
		if n := known(text, k); n > most {
			best, most = k, n
		}
	}
	if best == KindCluster && known(text, KindScenario) == most && happensInScenarios(text) {
		return KindScenario
	}
	return best
}

// MayBeScenario says that a text is taken for a cluster file, and that all its outermost keys are
// those of a scenario too.
func MayBeScenario(text []byte) bool {
	n := known(text, KindCluster)
	return KindOf(text) == KindCluster && n == known(text, KindScenario) && n == len(outermost(text))
}

// happensInScenarios says whether an event of a text is one that only a scenario has.
func happensInScenarios(text []byte) bool {
	for _, pair := range outermost(text) {
		key, _ := word(pair.Key)
		list, ok := pair.Value.(*ast.SequenceNode)
		if key != "events" || !ok {
			continue
		}
		for _, event := range list.Values {
			if ofScenario(event) {
				return true
			}
		}
	}
	return false
}

func ofScenario(event ast.Node) bool {
	d := decoder{problems: problems{src: &source{at: map[string]place{}}}}
	pairs, _ := d.pairs(event, "")
	for _, pair := range pairs {
		key, _ := word(pair.Key)
		value, _ := word(pair.Value)
		_, shared := findField(fieldsOf(reflect.TypeFor[Event]()), key)
		_, there := findField(fieldsOf(reflect.TypeFor[ScenarioEvent]()), key)
		if there && !shared || key == "kind" && slices.Contains(onlyInScenarios, value) {
			return true
		}
	}
	return false
}

// KindOfFile is KindOf for the profile or cluster file that is part of the program under
// this name, or else for the file at this path.
func KindOfFile(nameOrPath string) (Kind, error) {
	switch {
	case slices.Contains(Names(), nameOrPath):
		return KindProfile, nil
	case slices.Contains(ClusterNames(), nameOrPath):
		return KindCluster, nil
	}
	text, err := read(nameOrPath)
	if err != nil {
		return "", err
	}
	return KindOf(text), nil
}

// known counts the outermost keys of a text that a kind of file has.
func known(text []byte, k Kind) int {
	n := 0
	for _, pair := range outermost(text) {
		key, _ := word(pair.Key)
		if _, ok := findField(fieldsOf(typeOf(k)), key); ok {
			n++
		}
	}
	return n
}

// outermost are the outermost keys of a text, none where it is no block of keys.
func outermost(text []byte) []*ast.MappingValueNode {
	root, problem := guarded("", text)
	if problem != nil || root == nil {
		return nil
	}
	d := decoder{problems: problems{src: &source{at: map[string]place{}}}}
	pairs, _ := d.pairs(root, "")
	return pairs
}

// otherKind is the error that a text is a file of another kind, in one line, nil where
// it is not: then what is wrong with its keys says more.
func otherKind(file string, text []byte, want Kind) error {
	found := KindOf(text)
	told := want == KindCluster && found == KindScenario // by its events, where as many keys are known
	if found == "" || !told && known(text, found) <= known(text, want) {
		return nil
	}
	return &Error{[]Problem{{File: file, Text: fmt.Sprintf("is %s file, want %s file", Article(found), Article(want))}}}
}

// Article is the kind with its article.
func Article(k Kind) string {
	if k == KindExperiment {
		return "an " + string(k)
	}
	return "a " + string(k)
}
