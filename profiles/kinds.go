package profiles

import (
	"fmt"
	"reflect"
	"slices"
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
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{KindProfile, KindCluster, KindExperiment, KindGate, KindScaling} }

// typeOf is the struct that has the keys of a kind of file.
func typeOf(k Kind) reflect.Type {
	return map[Kind]reflect.Type{
		KindProfile: reflect.TypeFor[Profile](), KindCluster: reflect.TypeFor[Cluster](),
		KindExperiment: reflect.TypeFor[Experiment](), KindGate: reflect.TypeFor[Gate](), KindScaling: reflect.TypeFor[Scaling](),
	}[k]
}

// KindOf says which kind of file a text is by its outermost keys: that which has the
// most of them, the first of several. "" where no kind has any.
func KindOf(text []byte) Kind {
	best, most := Kind(""), 0
	for _, k := range Kinds() {
		if n := known(text, k); n > most {
			best, most = k, n
		}
	}
	return best
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
	root, problem := guarded("", text)
	if problem != nil || root == nil {
		return 0
	}
	d := decoder{problems: problems{src: &source{at: map[string]place{}}}}
	pairs, _ := d.pairs(root, "")
	n := 0
	for _, pair := range pairs {
		key, _ := word(pair.Key)
		if _, ok := findField(fieldsOf(typeOf(k)), key); ok {
			n++
		}
	}
	return n
}

// otherKind is the error that a text is a file of another kind, in one line, nil where
// it is not: then what is wrong with its keys says more.
func otherKind(file string, text []byte, want Kind) error {
	found := KindOf(text)
	if found == "" || known(text, found) <= known(text, want) {
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
