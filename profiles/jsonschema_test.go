package profiles

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// schemaOf compiles the schema of a kind of file, which also checks it against that of
// the draft.
func schemaOf(t *testing.T, k Kind) *jsonschema.Schema {
	t.Helper()
	text, err := JSONSchema(k)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("urn:orrery:schema:"+string(k), doc))
	s, err := c.Compile("urn:orrery:schema:" + string(k))
	require.NoError(t, err)
	return s
}

// instance is a YAML text as a validator takes it.
func instance(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal(text, &v))
	b, err := json.Marshal(v)
	require.NoError(t, err)
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	return out
}

// TestSchemasHaveTheKeysOfTheDecoder, and the decoder those of the schemas.
func TestSchemasHaveTheKeysOfTheDecoder(t *testing.T) {
	for _, k := range Kinds() {
		text, err := JSONSchema(k)
		require.NoError(t, err)
		var root map[string]any
		require.NoError(t, json.Unmarshal(text, &root))
		var have []string
		var walk func(schema map[string]any, path string)
		walk = func(schema map[string]any, path string) {
			if ref, ok := schema["$ref"].(string); ok {
				schema = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			}
			if items, ok := schema["items"].(map[string]any); ok {
				if _, block := items["$ref"]; block {
					walk(items, path+"[]")
				}
			}
			keys, _ := schema["properties"].(map[string]any)
			for key, value := range keys {
				v := value.(map[string]any)
				require.NotEmpty(t, v["description"], "%s: %s", k, key)
				at := join(path, key)
				if items, ok := v["items"].(map[string]any); ok && items["$ref"] != nil {
					have = append(have, at+"[]")
				} else {
					have = append(have, at)
				}
				walk(v, at)
			}
		}
		walk(root, "")
		var want []string
		for _, d := range keysOf(typeOf(k), "") {
			want = append(want, d.Path)
		}
		require.ElementsMatch(t, want, have, k)
	}
	_, err := JSONSchema("clutser")
	require.ErrorContains(t, err, "did you mean cluster")
}

// yamlBlocks are the blocks of a document that are fenced as YAML.
func yamlBlocks(t *testing.T, path string) (out [][]byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for i, part := range strings.Split(string(text), "```yaml\n") {
		if block, _, ok := strings.Cut(part, "```"); i > 0 && ok {
			out = append(out, []byte(block))
		}
	}
	return out
}

// TestSchemasAcceptWhatIsRead: the files of the program, the examples of the documents,
// and every file as it is printed with all defaults.
func TestSchemasAcceptWhatIsRead(t *testing.T) {
	files := map[Kind][][]byte{}
	for _, name := range Names() {
		text, err := library.ReadFile("library/" + name + ".yaml")
		require.NoError(t, err)
		p, err := Load(name)
		require.NoError(t, err)
		files[KindProfile] = append(files[KindProfile], text, p.YAML(), p.FullJSON(), p.JSON())
	}
	for _, name := range ClusterNames() {
		text, err := library.ReadFile("library/clusters/" + name + ".yaml")
		require.NoError(t, err)
		c, err := LoadCluster(name)
		require.NoError(t, err)
		files[KindCluster] = append(files[KindCluster], text, c.YAML(), c.FullJSON(), c.JSON())
	}
	for _, path := range []string{"PROFILE-FORMAT", "CLUSTER-FORMAT", "EXPERIMENT-FORMAT", "GATE-FORMAT", "SCALING-FORMAT", "WHATIF"} {
		for _, block := range yamlBlocks(t, filepath.Join("..", "docs", path+".md")) {
			if k := KindOf(block); k != "" {
				files[k] = append(files[k], block)
			}
		}
	}
	scenarios, err := filepath.Glob("../sim/gate/scenarios/*.yaml")
	require.NoError(t, err)
	for _, path := range scenarios {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		files[KindOf(text)] = append(files[KindOf(text)], text)
	}
	e, err := ParseExperiment("x.yaml", []byte(sampled))
	require.NoError(t, err)
	files[KindExperiment] = append(files[KindExperiment], []byte(sampled), e.YAML(), e.FullJSON())
	s, err := ParseScenario("x.yaml", []byte("events: [{time: 1d, kind: profile, profile: {order: sjf}}, {kind: add, subject: r, type: t, value: 8}, {kind: price, value: 0.2}]\nprefer: 3\n"))
	require.NoError(t, err)
	files[KindScenario] = append(files[KindScenario], s.JSON())
	require.GreaterOrEqual(t, len(files[KindScenario]), 2, "the example of the document is one")
	for _, k := range Kinds() {
		s := schemaOf(t, k)
		require.NotEmpty(t, files[k], "%s", k)
		for _, text := range files[k] {
			require.NoError(t, s.Validate(instance(t, text)), "%s: %s", k, text)
		}
	}
}

// TestSchemasRefuseWhatIsNotRead: both the decoder and the schema find fault.
func TestSchemasRefuseWhatIsNotRead(t *testing.T) {
	for text, k := range map[string]Kind{
		"ordre: fcfs":                        KindProfile,
		"order: fcsf":                        KindProfile,
		"cycle: 30":                          KindProfile,
		"cycle: soon":                        KindProfile,
		"weights: {wait_time: -1}":           KindProfile,
		"weights: {wait_time: much}":         KindProfile,
		"backfill: conservative\ndepth: 1.5": KindProfile,
		"preemption: {enabled: 1}":           KindProfile,
		"price: 2":                           KindCluster,
		"groups: 4":                          KindCluster,
		"groups: [{name: g, node: 4}]":       KindCluster,
		"power_cap: 100":                     KindCluster,
		"traces: a":                          KindExperiment,
		"traces: [a]\ndesign: grid":          KindExperiment,
		"runs: [{name: a, jitter: 5}]":       KindGate,
		"confidence: 0.1":                    KindGate,
		"bound: [{run: a, at_most: a few}]":  KindGate,
		"policies: [{kind: hpo}]":            KindScaling,
		"demand: {shape: wave}":              KindScaling,
		"events: [{kind: fail}]":             KindScenario,
		"events: [{tyme: 1h}]":               KindScenario,
		"without: {users: ann}":              KindScenario,
		"prefer: soon":                       KindScenario,
	} {
		require.Error(t, schemaOf(t, k).Validate(instance(t, []byte(text))), text)
		_, err := decode("f.yaml", []byte(text), reflect.New(typeOf(k)).Interface())
		if err == nil { // its keys are of the right kinds; their ranges are checked next
			v := reflect.New(typeOf(k))
			src, err := decode("f.yaml", []byte(text), v.Interface())
			require.NoError(t, err)
			c := &checker{problems{src: src}, v.Elem(), ""}
			c.check()
			require.Error(t, c.err(), text)
		}
	}
	require.True(t, slices.Contains(Kinds(), KindGate))
}
