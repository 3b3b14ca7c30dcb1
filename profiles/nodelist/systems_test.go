package nodelist

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/traces"
)

const (
	// Two pairs of GPUs, each in a NUMA domain of its own, with a network interface, as newer drivers print it.
	pairsOfGPUs = "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n" +
		"GPU0\t X \tNV4\tSYS\tSYS\tPIX\t0-3,8-11\t0\t\tN/A\n" +
		"GPU1\tNV4\t X \tSYS\tSYS\tNODE\t0-3,8-11\t0\t\tN/A\n" +
		"GPU2\tSYS\tSYS\t X \tNV4\tSYS\t4-7,12-15\t1\t\tN/A\n" +
		"GPU3\tSYS\tSYS\tNV4\t X \tSYS\t4-7,12-15\t1\t\tN/A\n" +
		"NIC0\tPIX\tNODE\tSYS\tSYS\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n"
	// Three GPUs, of which two are joined by twice as many links.
	ringOfGPUs = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV2\tNV1\t0-1\nGPU1\tNV2\t X \tPHB\t0-1\nGPU2\tNV1\tPHB\t X \t0-1\n"
	mlperf     = `{
 "system_name": "2xBox", "number_of_nodes": "2", "host_processors_per_node": 2, "host_processor_core_count": "48", "host_memory_capacity": "1.5 TB",
 "accelerators_per_node": "4", "accelerator_model_name": "Maker A100 - PCIe (80)", "accelerator_memory_capacity": "4x 80 GiB"
}`
	exadigit = `# four racks, of which one is not there
system:
  num_cdus: 2
  racks_per_cdu: 2
  nodes_per_rack: 2
  nics_per_node: 2
  missing_racks:
    - 1
  down_nodes: [7]
  cpus_per_node: 2
  cores_per_cpu: 24
  gpus_per_node: 4
power:
  power_gpu_idle: 50
  power_gpu_max: 300
  power_cpu_idle: 40.5
  power_cpu_max: 200
  power_mem: 70
  power_nic: 20
  power_nvme: 30
`
)

func clusterOf(t *testing.T, texts ...string) *Result {
	t.Helper()
	var lists []List
	for _, text := range texts {
		l, ok, err := Read("x", []byte(text))
		require.NoError(t, err)
		require.True(t, ok)
		require.False(t, l.Untested)
		lists = append(lists, l)
	}
	r, err := Cluster("site", lists)
	require.NoError(t, err)
	again, err := profiles.ParseCluster("again.yaml", r.YAML("made"))
	require.NoError(t, err)
	require.Equal(t, r.Cluster.JSON(), again.JSON())
	return r
}

// TestTopologyAlone makes a node of a matrix of links.
func TestTopologyAlone(t *testing.T) {
	r := clusterOf(t, pairsOfGPUs)
	require.Len(t, r.Cluster.NodeTypes, 1)
	of := r.Cluster.NodeTypes[0]
	require.Equal(t, []int32{4, 16}, []int32{of.GPUs, of.CPUs})
	require.Equal(t, profiles.GPUTopology{Islands: [][]int32{{0, 1}, {2, 3}}, IslandBandwidth: 100, OtherBandwidth: 64, NUMA: []int32{0, 0, 1, 1}}, of.GPUTopology)
	notes := strings.Join(r.Notes, "\n")
	require.Contains(t, notes, "assumed: x: one node, with the CPUs that are near any of its GPUs")
	require.Contains(t, notes, "assumed: x: all nodes of 4 GPUs have these links; NVLinks have 25 GB/s each way")
	require.NotContains(t, notes, "gpu_topology")

	of = clusterOf(t, ringOfGPUs).Cluster.NodeTypes[0]
	require.Equal(t, profiles.GPUTopology{Bandwidth: [][]int64{{0, 50, 25}, {50, 0, 64}, {25, 64, 0}}, IslandBandwidth: 450, OtherBandwidth: 64}, of.GPUTopology)
}

// TestTopologyOfNodes gives the links to the nodes with as many GPUs.
func TestTopologyOfNodes(t *testing.T) {
	r := clusterOf(t, bars, pairsOfGPUs)
	require.Equal(t, [][]int32{{0, 1}, {2, 3}}, r.Cluster.NodeTypes[0].GPUTopology.Islands)
	require.Empty(t, r.Cluster.NodeTypes[1].GPUTopology.Islands)
	for _, row := range []struct {
		texts []string
		want  string
	}{{[]string{bars, ringOfGPUs}, "x: found links of 3 GPUs, expected those of nodes that the other lists have"},
		{[]string{bars, pairsOfGPUs, pairsOfGPUs}, "x: found links of 4 GPUs a second time"}} {
		var lists []List
		for _, text := range row.texts {
			l, _, err := Read("x", []byte(text))
			require.NoError(t, err)
			lists = append(lists, l)
		}
		_, err := Cluster("site", lists)
		require.ErrorContains(t, err, row.want)
	}
}

// TestMLPerfSystem makes alike nodes of a description.
func TestMLPerfSystem(t *testing.T) {
	r := clusterOf(t, mlperf)
	require.Equal(t, profiles.NodeType{Name: "4xMaker-A100-PCIe-80-of-80GiB-96c-1500GB", GPU: "Maker-A100-PCIe-80", GPUs: 4, GPUMemory: 80 << 30, CPUs: 96, Memory: 1_500_000_000_000,
		GPUTopology: profiles.GPUTopology{IslandBandwidth: 450, OtherBandwidth: 64}}, r.Cluster.NodeTypes[0])
	require.Equal(t, profiles.Nodes{"2xBox-n[1-2]"}, r.Cluster.Groups[0].Nodes)
	notes := clusterOf(t, strings.Replace(mlperf, "1.5 TB", "2T GB", 1)).Notes
	require.Contains(t, notes, `assumed: x: host_memory_capacity is not known: "2T GB" is no size`)
}

// TestExaDigiT makes racks of a system file.
func TestExaDigiT(t *testing.T) {
	r := clusterOf(t, exadigit)
	of := r.Cluster.NodeTypes[0]
	require.Equal(t, []int64{4, 48, 200 + 81 + 70 + 40 + 30, 1200 + 400 + 70 + 40 + 30}, []int64{int64(of.GPUs), int64(of.CPUs), int64(of.IdlePower), int64(of.BusyPower)})
	var groups []string
	for _, g := range r.Cluster.Groups {
		groups = append(groups, g.Name+" "+strings.Join(g.Nodes, ","))
	}
	require.Equal(t, []string{"rack0 n[0-1]", "rack2 n[4-5]", "rack3 n[6-7]"}, groups)
	require.Contains(t, strings.Join(r.Notes, "\n"), "1 nodes that were down or drained when the list was made are up: n7")

	without := strings.Replace(strings.Replace(exadigit, "  cores_per_cpu: 24\n", "", 1), "  power_gpu_idle: 50\n", "", 1)
	of = clusterOf(t, without).Cluster.NodeTypes[0]
	require.Zero(t, int64(of.CPUs)+int64(of.IdlePower)+int64(of.BusyPower))
}

// TestWrongSystems checks that what is wrong is told by file and line.
func TestWrongSystems(t *testing.T) {
	for _, row := range []struct{ text, from, to, want string }{
		{pairsOfGPUs, "GPU2\tSYS\tSYS", "GPU2\tSYS\tNV4", `x: line 4: found "NV4" between GPU2 and GPU1, and "SYS" between GPU1 and GPU2`},
		{pairsOfGPUs, "GPU0\t X \tNV4", "GPU0\t X \tNVx", `x: line 2: found "NVx" between GPU0 and GPU1, expected X for a GPU itself`},
		{pairsOfGPUs, "GPU3\tSYS", "GPUx\tSYS", "x: line 1: found 4 columns and 3 rows of GPUs"},
		{pairsOfGPUs, "\t0-3,8-11\t0\t\tN/A", "", "x: line 2: found 5 values of GPU0, expected 8"},
		{pairsOfGPUs, "0-3,8-11", "0-3,many", `x: line 2: found "0-3,many" as CPU Affinity`},
		{mlperf, `"2", "host`, `"none", "host`, `x: found "none" as number_of_nodes, expected a whole number`},
		{mlperf, `"2", "host`, `"0", "host`, `x: found number_of_nodes "0", expected 1 or more`},
		{mlperf, `"48"`, `"48000000"`, "x: found 2 processors of 48000000 cores"},
		{mlperf, `"number_of_nodes": "2"`, `"number_of_nodes": [2]`, `x: found "[2]" as number_of_nodes`},
		{exadigit, "num_cdus: 2", "num_cdus: many", `x: line 3: found "many" as system.num_cdus, expected a whole number`},
		{exadigit, "  num_cdus: 2\n", "", "x: found no system.num_cdus, expected a whole number"},
		{exadigit, "racks_per_cdu: 2\n  nodes_per_rack: 2", "racks_per_cdu: 3000\n  nodes_per_rack: 1000", "x: found 6000000 nodes, expected 1 to"},
		{exadigit, "    - 1\n", "    - 4\n", `x: line 8: found "4" as system.missing_racks[0], expected a number from 0 to 3`},
		{exadigit, "power_mem: 70", "power_mem: -70", `x: line 18: found "-70" as power.power_mem, expected a number of watts`},
		{exadigit, "nics_per_node: 2", "nics_per_node: two", `x: line 6: found "two" as system.nics_per_node, expected a whole number`},
		{exadigit, "num_cdus: 2", "num_cdus: [2", "x: line 4: found not valid YAML"},
	} {
		require.Contains(t, row.text, row.from)
		_, ok, err := Read("x", []byte(strings.Replace(row.text, row.from, row.to, 1)))
		require.True(t, ok, row.want)
		require.ErrorContains(t, err, row.want)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
	}
}
