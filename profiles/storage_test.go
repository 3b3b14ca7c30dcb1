package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
)

// TestTransfers: what a file says of transfers reaches the site, and stands in its canonical
// form. A size of 0 is one, and no size is another.
func TestTransfers(t *testing.T) {
	const nodes = "groups: [{name: g, nodes: 2}]\n"
	known := func(n int64) hwmodel.Size { return hwmodel.Size{Size: n, Known: true} }
	for _, c := range []struct {
		name, text string
		want       *Transfers
		bytes      hwmodel.Bytes
	}{
		{"nothing", "workloads: [{name: w}]\n", nil, hwmodel.Bytes{}},
		{"none of them", "storage: {bandwidth: none, stage_bandwidth: none}\nagents: {checkpoint_stop: none}\nworkloads: [{name: w, input_bytes: unknown}]\n", nil, hwmodel.Bytes{}},
		{"all", "storage: {bandwidth: 200GB/s, stage_bandwidth: 2GB/s}\nagents: {checkpoint_stop: 1TB/s}\nworkloads: [{name: w, checkpoint_bytes: 80GB, input_bytes: 0B}]\n", &Transfers{Bandwidth: 200e9, Stage: 2e9, Stop: 1e12}, hwmodel.Bytes{Checkpoint: known(80e9), Input: known(0)}},
		{"copies alone", "agents: {checkpoint_stop: 1TB/s}\nworkloads: [{name: w, input_bytes: 1KiB}]\n", &Transfers{Stop: 1e12}, hwmodel.Bytes{Input: known(1024)}},
		{"two file systems", "file_systems: [{name: scratch, bandwidth: 200GB/s}, {name: home, bandwidth: none}]\nworkloads: [{name: w, file_system: home, checkpoint_bytes: 1KiB}]\n",
			&Transfers{FileSystems: []FileSystem{{"scratch", 200e9}, {"home", 0}}}, hwmodel.Bytes{Checkpoint: known(1024), CheckpointOn: 1, InputOn: 1}},
		{"input on another", "file_systems: [{name: scratch}, {name: home}]\nworkloads: [{name: w, input_file_system: home}]\n",
			&Transfers{FileSystems: []FileSystem{{"scratch", 0}, {"home", 0}}}, hwmodel.Bytes{InputOn: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := ParseCluster("c.yaml", []byte(nodes+c.text))
			require.NoError(t, err)
			again, err := ParseSite("site", file.JSON())
			require.NoError(t, err)
			for _, f := range []*Cluster{file, again} {
				site, err := f.Resolve()
				require.NoError(t, err)
				require.Equal(t, c.want, site.Hardware.Transfers)
				require.Equal(t, c.bytes, site.Hardware.Model.Classes[0].Bytes)
			}
		})
	}
}

// TestFileSystemErrors name the key, and say what to write.
func TestFileSystemErrors(t *testing.T) {
	const nodes, two = "groups: [{name: g, nodes: 2}]\n", "file_systems: [{name: scratch, bandwidth: 1GB/s}, {name: home}]\n"
	for text, want := range map[string]string{
		two + "storage: {bandwidth: 1GB/s}\n":                     "c.yaml:3:22: storage.bandwidth: is there beside file_systems",
		two + "workloads: [{name: w, file_system: hom}]\n":        `c.yaml:3:36: workloads[0].file_system: found "hom" (did you mean home?), want one of file_systems, scratch or home`,
		two + "workloads: [{name: w, input_file_system: tape}]\n": `workloads[0].input_file_system: found "tape", want one of file_systems`,
		"workloads: [{name: w, file_system: home}]\n":             "workloads[0].file_system: found home, and the file has no file_systems: list them",
		"file_systems: [{name: a}, {name: a}]\n":                  `file_systems[1].name: found "a", which file_systems[0] is called already`,
		"file_systems: [{bandwidth: 1GB/s}]\n":                    "file_systems[0].name",
		"file_systems: [{name: a, bandwidth: 0B/s}]\n":            "file_systems[0].bandwidth: found 0B/s",
		"file_systems: [{name: a, mounts: x}]\n":                  "file_systems[0].mounts: there is no such key",
	} {
		_, err := ParseCluster("c.yaml", []byte(nodes+text))
		require.ErrorContains(t, err, want, text)
	}
	c, err := ParseCluster("c.yaml", []byte(nodes+two))
	require.NoError(t, err)
	c, err = c.WithAll([]Assignment{{"file_systems.home.bandwidth", "5MB/s"}})
	require.NoError(t, err)
	require.Equal(t, []FileSystem{{"scratch", 1e9}, {"home", 5e6}}, c.FileSystems)
	_, remarks, err := lintText(t, nodes+two)
	require.NoError(t, err)
	require.Equal(t, []string{"file_systems[1]: no class of work names home, and jobs of no class use the first, scratch: nothing is moved to or from it"}, remarks)
}
