package nodelist

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/tools/refdata"
	"orrery/traces"
	"orrery/traces/importer"
)

// The same three nodes as the programs of Slurm print them.
const (
	bars = `NODELIST|CPUS|MEMORY|GRES|AVAIL_FEATURES|PARTITION|STATE
n1|64|262144|gpu:a100:4(S:0-1),nvme:1|ib,amd|gpu*|idle
n2|64|262144|gpu:a100:4(S:0-1),nvme:1|ib,amd|gpu*|drain*
n1|64|262144|gpu:a100:4(S:0-1),nvme:1|ib,amd|debug|idle
c7|128|524288|(null)|(null)|debug|mix
c8|128|524288|(null)|(null)|debug|futr
`
	blocks = `NodeName=n1 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=4 CPUEfctv=62 CPUTot=64 CPULoad=0.10
   AvailableFeatures=ib,amd
   Gres=gpu:a100:4(S:0-1),nvme:1
   NodeAddr=n1 OS=Linux 6.1 #1 SMP
   RealMemory=262144 AllocMem=0 Sockets=2
   State=IDLE ThreadsPerCore=2
   Partitions=gpu,debug
   Comment=State=DOWN

NodeName=n2 CPUTot=64 AvailableFeatures=ib,amd Gres=gpu:a100:4(S:0-1),nvme:1 RealMemory=262144 State=IDLE+DRAIN Partitions=gpu Reason=disk [root@2026-01-01T00:00:00]
NodeName=c7 CPUTot=128 AvailableFeatures=(null) Gres=(null) RealMemory=524288 State=MIXED Partitions=debug
NodeName=c8 CPUTot=128 Gres=(null) RealMemory=524288 State=FUTURE Partitions=debug
`
	nodesJSON = `{"nodes": [
 {"name": "n1", "cpus": 64, "real_memory": 262144, "gres": "gpu:a100:4(S:0-1),nvme:1", "features": "ib,amd", "partitions": ["gpu", "debug"], "state": "idle", "state_flags": []},
 {"name": "n2", "cpus": 64, "real_memory": 262144, "gres": "gpu:a100:4(S:0-1),nvme:1", "features": ["ib", "amd"], "partitions": ["gpu"], "state": ["IDLE", "DRAIN"]},
 {"name": "c7", "cpus": 128, "real_memory": 524288, "gres": "", "features": "", "partitions": ["debug"], "state": "mixed"},
 {"name": "c8", "cpus": 128, "real_memory": 524288, "partitions": ["debug"], "state": ["FUTURE"]}
]}`
	sinfoJSON = `{"sinfo": [
 {"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["n1"]}, "cpus": {"minimum": 64, "maximum": 64}, "memory": {"minimum": 262144, "maximum": 262144}, "features": {"total": "ib,amd"}, "gres": {"total": "gpu:a100:4(S:0-1),nvme:1"}, "partition": {"name": "gpu"}},
 {"node": {"state": ["IDLE", "DRAIN"]}, "nodes": {"nodes": ["n2"]}, "cpus": {"minimum": 64, "maximum": 64}, "memory": {"minimum": 262144, "maximum": 262144}, "features": {"total": "ib,amd"}, "gres": {"total": "gpu:a100:4(S:0-1),nvme:1"}, "partition": {"name": "gpu"}},
 {"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["n1"]}, "cpus": {"minimum": 64, "maximum": 64}, "memory": {"minimum": 262144, "maximum": 262144}, "features": {"total": "ib,amd"}, "gres": {"total": "gpu:a100:4(S:0-1),nvme:1"}, "partition": {"name": "debug"}},
 {"node": {"state": ["MIXED"]}, "nodes": {"nodes": ["c7"]}, "cpus": {"minimum": 128, "maximum": 128}, "memory": {"minimum": 524288, "maximum": 524288}, "gres": {"total": ""}, "partition": {"name": "debug"}},
 {"node": {"state": ["IDLE"]}, "nodes": {"nodes": []}, "partition": {"name": "empty"}}
]}`
)

// TestListsOfSlurmAreOneCluster checks that whichever program of Slurm printed the nodes, the
// cluster is the same.
func TestListsOfSlurmAreOneCluster(t *testing.T) {
	for _, row := range []struct{ format, text string }{{"sinfo", bars}, {"scontrol-nodes", blocks}, {"slurm-nodes-json", nodesJSON}, {"sinfo-json", sinfoJSON}} {
		t.Run(row.format, func(t *testing.T) {
			l, ok, err := Read("x", []byte(row.text))
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, row.format, l.Format)
			r, err := Cluster("site", []List{l})
			require.NoError(t, err)
			require.Equal(t, `name: site
node_types:
  - name: "4xa100-64c-256GiB"
    gpu: a100
    gpus: 4
    cpus: 64
    memory: 256GiB
    features: ["ib","amd"]
  - name: "128c-512GiB"
    cpus: 128
    memory: 512GiB
groups:
  - name: nodes
    nodes: "n[1-2]"
    type: "4xa100-64c-256GiB"
    fingerprint: "4xa100-64c-256GiB"
  - name: nodes
    nodes: "c7"
    type: "128c-512GiB"
    fingerprint: "128c-512GiB"
vclusters:
  - name: default
    home: "all"
partitions:
  - name: debug
    nodes: ["n1","c7"]
  - name: gpu
    nodes: "n[1-2]"
`, string(r.Cluster.BriefYAML()))
			notes := strings.Join(r.Notes, "\n")
			require.Contains(t, notes, "assumed: x: 1 nodes that were down or drained when the list was made are up: n2")
			require.Contains(t, notes, "assumed: x: GRES other than GPUs are left out")
			require.Contains(t, notes, "not known: gpu_memory of 2 of 3 nodes (0, at its default)")
			require.Contains(t, notes, "not known: limits, tier and priority of the partitions")
			require.Equal(t, row.format == "sinfo-json", strings.Contains(notes, "untested on real rows"))
			again, err := profiles.ParseCluster("again.yaml", r.YAML("made"))
			require.NoError(t, err)
			require.Equal(t, r.Cluster.JSON(), again.JSON())
		})
	}
}

// TestSinfoLong reads the columns of sinfo -N -l, whose remarks have blanks.
func TestSinfoLong(t *testing.T) {
	l, ok, err := Read("x", []byte(`Mon Nov 23 12:00:00 2026
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON
n1             1    batch*        idle 64     2:16:2 193000        0      1   (null) none
n[2-3]         2    batch*       down* 64     2:16:2 193000        0      1   (null) Not responding
`))
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, l.Nodes, 3)
	require.Equal(t, Node{Name: "n3", CPUs: 64, Memory: 193000 << 20, Partitions: []string{"batch"}, Down: true, Line: 4}, l.Nodes[2])
}

// TestWrongLists checks that what is wrong is told by file and line.
func TestWrongLists(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{strings.Replace(bars, "n2|64", "n2|many", 1), `x: line 3: found "many" as CPUs of node n2, expected a whole number`},
		{strings.Replace(bars, "|drain*", "", 1), "x: line 3: found 6 fields, expected 7, as there are names of columns on line 1"},
		{strings.Replace(bars, "n1|64|262144|gpu:a100:4(S:0-1),nvme:1|ib,amd|debug", "n1|32|262144|gpu:a100:4(S:0-1),nvme:1|ib,amd|debug", 1), "x: line 4: found node n1 again, with other CPUs"},
		{strings.Replace(bars, "gpu:a100:4(", "gpu:a100:x(", 1), `x: line 2: found the GRES "gpu:a100:x" of node n1, expected gpu:NUMBER`},
		{strings.Replace(bars, "c7|", "c[7|", 1), `x: line 5: found the names "c[7", expected names like n[001-256]`},
		{"NODELIST CPUS\n", "x: found no nodes"},
		{strings.Replace(blocks, "RealMemory=262144 AllocMem=0", "", 1), "x: line 1: found node n1 without RealMemory"},
		{blocks + "slurm_load_node error\n", `x: line 14: found "slurm_load_node error", expected NodeName=`},
		{nodesJSON[:300], "x: line 3: found unexpected end of JSON input"},
		{strings.Replace(nodesJSON, `"cpus": 128`, `"cpus": "many"`, 1), "x: line 4, column nodes.cpus: found string, expected int64"},
		{strings.Replace(nodesJSON, `"cpus": 128, `, ``, 1), `x: row 3: found a node "c7" without cpus or real_memory`},
		{strings.Replace(sinfoJSON, `"maximum": 128`, `"maximum": 256`, 1), "x: row 4: found nodes of 128 to 256 CPUs"},
	} {
		_, ok, err := Read("x", []byte(row.text))
		require.True(t, ok, row.want)
		require.ErrorContains(t, err, row.want)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
	}
}

// TestNodesThatCannotStandInAClusterFile checks what Cluster refuses.
func TestNodesThatCannotStandInAClusterFile(t *testing.T) {
	for _, row := range []struct {
		nodes []Node
		want  string
	}{
		{[]Node{{Name: "a b"}}, `found the node name "a b"`},
		{[]Node{{Name: ""}}, `found the node name ""`},
		{[]Node{{Name: "all"}}, "found a node called all"},
		{[]Node{{Name: "n"}, {Name: "n"}}, "found node n a second time, as in x"},
		{[]Node{{Name: "n", GPUs: 65}}, "found 65 GPUs on node n, expected at most 64"},
		{[]Node{{Name: "n", CPUs: 20000}}, "found 20000 CPUs on node n, expected at most 16384"},
	} {
		_, err := Cluster("site", []List{{File: "x", Nodes: row.nodes}})
		require.ErrorContains(t, err, row.want)
	}
}

// TestRows checks racks, numbers as names, memory of GPUs and nodes of two kinds apart.
func TestRows(t *testing.T) {
	nodes := []traces.Node{{Name: "0", Group: "r1", GPUModel: "V 100", GPUs: 2, Up: true}, {Name: "1", CPUs: 8}, {Name: "2", Group: "r1", GPUs: 2, GPUModel: "V 100", Type: "big", Up: true}}
	l := Rows("x", nodes, []traces.Assumption{{What: "nodes.up", Value: "true", Why: "it is"}, {What: "jobs.end", Value: "0", Why: "no"}},
		func(kind string) int64 { return int64(len(kind)) << 30 })
	r, err := Cluster("", []List{l})
	require.NoError(t, err)
	var groups []string
	for _, g := range r.Cluster.Groups {
		groups = append(groups, g.Name+" "+strings.Join(g.Nodes, ",")+" "+g.Type)
	}
	require.Equal(t, []string{"r1 node-0 2xV-100", "r1 node-2 2xV-100-of-3GiB", "nodes node-1 8c"}, groups)
	require.Equal(t, []string{"assumed: x: up: true: it is", "assumed: x: 3 nodes whose names are numbers are called node-NUMBER, since a number alone is a number of nodes in a cluster file",
		"assumed: x: 1 nodes that were down or drained when the list was made are up: node-1"}, r.Notes[:3])
}

// Fingerprints that were captured are those of the file: what jobs that are sensitive may be put together on.
func TestFingerprintsOfATrace(t *testing.T) {
	node := func(name, print string) traces.Node {
		return traces.Node{Name: name, GPUs: 2, GPUModel: "V100", Fingerprint: print, Up: true}
	}
	r, err := Cluster("", []List{Rows("x", []traces.Node{node("a1", "aa01"), node("a2", "bb02"), node("a3", "aa01"), node("a4", "")}, nil, func(string) int64 { return 0 })})
	require.NoError(t, err)
	var groups []string
	for _, g := range r.Cluster.Groups {
		groups = append(groups, strings.Join(g.Nodes, ",")+" "+g.Fingerprint)
	}
	require.Equal(t, []string{"a1,a3 aa01", "a2 bb02", "a4 "}, groups)
	notes := strings.Join(r.Notes, "\n")
	require.Contains(t, notes, "not known: fingerprint of 1 of 4 nodes")
	require.NotContains(t, notes, "the lists say nothing of firmware")
	require.NotContains(t, notes, "home of")
}

// TestRealNodesOfSlurm reads what a Slurm 21.08 said of its nodes.
func TestRealNodesOfSlurm(t *testing.T) {
	text, err := importer.Text("x", refdata.Path(t, "traces", "slurm", "rivos-exporter", "sinfo_out.json"), 1<<20)
	require.NoError(t, err)
	l, ok, err := Read("x", text)
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, l.Nodes, 4)
	require.Equal(t, Node{Name: "cs2.example.company.com", CPUs: 64, Memory: 500000 << 20, Partitions: []string{"hw"}}, l.Nodes[0])
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{bars, blocks, nodesJSON, sinfoJSON, pairsOfGPUs, ringOfGPUs, mlperf, exadigit} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, _, err := Read("x", text)
		if err != nil {
			var data *traces.DataError
			require.ErrorAs(t, err, &data)
			return
		}
		if len(l.Nodes) > 1000 { // Links have none
			t.Skip("a short text may stand for millions of nodes")
		}
		r, err := Cluster("x", []List{l})
		var data *traces.DataError
		if err != nil && (len(l.Nodes) > 0 || l.Links != nil) {
			require.ErrorAs(t, err, &data)
		} else if err == nil {
			_, err = profiles.ParseCluster("x", r.YAML("made"))
			require.NoError(t, err)
		}
	})
}
