package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/profiles"
	"orrery/tools/refdata"
)

// TestClusterImportRealLists makes cluster files of public lists, whatever they are called, and
// counts nodes, node types, GPUs and CPUs as other programs do.
func TestClusterImportRealLists(t *testing.T) {
	for _, row := range []struct {
		path                    []string
		nodes, types, gpus, cpu int
		note                    string
	}{
		{[]string{"gpu", "alibaba-openb-v2023", "openb_node_list_all_node.csv"}, 1523, 27, 6212, 125514, "not known: gpu_memory of 1213 of 1523 nodes"},
		{[]string{"gpu", "alibaba-openb-v2023", "openb_node_list_gpu_node.csv"}, 1213, 15, 6212, 107018, "assumed: x: up: true"},
		{[]string{"gpu", "alibaba-spot-v2026", "node_info_df.csv.gz"}, 4278, 10, 10412, 632636, "4278 nodes whose names are numbers"},
		{[]string{"gpu", "philly", "cluster_machine_list.csv"}, 552, 2, 2490, 0, "the model of the GPUs of 552 nodes is called gpu"},
		{[]string{"slurm", "rivos-exporter", "sinfo_out.json"}, 4, 1, 0, 256, "cs5.example.company.com"},
		{[]string{"hardware", "exadigit-raps", "frontier.yaml"}, 9472, 1, 37888, 0, "the cores of the 1 CPUs of a node are not known"},
		{[]string{"hardware", "exadigit-raps", "marconi100.yaml"}, 980, 1, 3920, 0, "the cores of the 2 CPUs of a node are not known"},
		{[]string{"hardware", "exadigit-raps", "summit.yaml"}, 4626, 1, 27756, 0, "the cores of the 2 CPUs of a node are not known"},
		{[]string{"hardware", "exadigit-raps", "mit_supercloud", "part-gpu.yaml"}, 224, 1, 448, 8960, "racks and nodes are numbered from 0"},
		{[]string{"hardware", "exadigit-raps", "philly", "2-gpu.yaml"}, 83, 1, 166, 3320, "racks and nodes are numbered from 0"},
		{[]string{"hardware", "exadigit-raps", "philly", "8-gpu.yaml"}, 469, 1, 3752, 18760, "racks and nodes are numbered from 0"},
		{[]string{"hardware", "nvidia-smi-topo", "dgx-h100-8gpu-12nic-truncated.txt"}, 1, 1, 8, 224, "all nodes of 8 GPUs have these links"},
		{[]string{"hardware", "mlperf-train-v4.1-systems", "NVIDIA__eos_n316_ngc24.04_pytorch.json"}, 316, 1, 2528, 35392, "316 nodes, all alike"},
		{[]string{"hardware", "mlperf-train-v4.1-systems", "ASUSTeK__ESC_N8_E11.json"}, 1, 1, 8, 120, "host_memory_capacity is not known"},
	} {
		t.Run(strings.Join(row.path, "/"), func(t *testing.T) {
			text, err := os.ReadFile(refdata.Path(t, append([]string{"traces"}, row.path...)...))
			require.NoError(t, err)
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("x", text, 0o600))
			got := clitest.Run(t, "cluster", "import", "x", "--out", "cluster.yaml")
			require.Zero(t, got.Code, got.Stderr)
			require.Contains(t, got.Stderr, row.note)
			made, err := os.ReadFile("cluster.yaml")
			require.NoError(t, err)
			require.Contains(t, string(made), row.note)
			c, err := profiles.LoadCluster("cluster.yaml")
			require.NoError(t, err)
			site, err := c.Resolve()
			require.NoError(t, err)
			gpus, cpus := 0, 0
			for i := range site.Nodes {
				gpus += int(site.Nodes[i].GPUs)
				cpus += int(site.Nodes[i].CPUs)
			}
			require.Equal(t, []int{row.nodes, row.types, row.gpus, row.cpu}, []int{len(site.Nodes), len(c.NodeTypes), gpus, cpus})
			require.Zero(t, clitest.Run(t, "lint", "cluster.yaml").Code)
		})
	}
	systems, err := filepath.Glob(filepath.Join(refdata.Path(t, "traces", "hardware", "mlperf-train-v4.1-systems"), "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, systems)
	for _, path := range systems {
		got := clitest.Run(t, "cluster", "import", path, "--quiet")
		require.Zero(t, got.Code, "%s: %s", path, got.Stderr)
	}
	for _, name := range []string{"sinfo.txt", "sinfo_mem.txt"} { // without names of columns
		got := clitest.Run(t, "cluster", "import", refdata.Path(t, "traces", "slurm", "vpenso-exporter", name))
		require.Equal(t, cli.ExitInput, got.Code)
		require.Contains(t, got.Stderr, "line 1: found the line")
		require.Contains(t, got.Stderr, "orrery cluster import --help describes the lists of nodes")
	}
}
