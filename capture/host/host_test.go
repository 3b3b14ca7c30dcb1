package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/host"
)

// tree writes a small file system.
func tree(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for path, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
	}
	return root
}

func node(t *testing.T) string {
	return tree(t, map[string]string{
		"sys/class/dmi/id/bios_version":                     "2.1.3\n",
		"sys/devices/platform/ipmi_bmc.0/firmware_revision": "6.10\n",
		"proc/sys/kernel/osrelease":                         "5.14.0-427.el9.x86_64\n",
		"proc/cmdline":                                      "root=UUID=1 iommu=pt\n",
		"proc/meminfo":                                      "MemTotal:       2113461232 kB\nMemFree: 1 kB\n",
		"sys/devices/system/cpu/online":                     "0-95,100\n",
		"sys/class/infiniband/mlx5_0/fw_ver":                "28.39.1002\n",
		"sys/class/infiniband/mlx5_0/device/numa_node":      "1\n",
		"sys/class/infiniband/mlx5_0/ports/1/rate":          "400 Gb/sec (4X NDR)\n",
		"sys/class/net/lo/speed":                            "0\n",
		"sys/class/net/eth0/device/numa_node":               "0\n",
		"sys/class/net/eth0/speed":                          "25000\n",
		"sys/class/net/eth1/device/numa_node":               "-1\n",
		"sys/bus/pci/devices/0000:10:00.0/numa_node":        "0\n",
		"sys/bus/pci/devices/0000:10:00.0/local_cpulist":    "0-47\n",
		"proc/4242/stat":                                    "4242 (py) thon) S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 777 1 1\n",
		"proc/4242/cgroup":                                  "0::/system.slice/slurmstepd.scope/job_918273/step_0/user/task_0\n",
		"proc/4242/io":                                      "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n",
	})
}

func TestInventory(t *testing.T) {
	v := &capture.Inventory{GPUs: []capture.GPU{{Index: 0}}}
	v.Add("gpu.0.pci", "0000:10:00.0")
	host.New(node(t)).Inventory(v)
	for name, want := range map[string]string{
		capture.FactBIOS: "2.1.3", capture.FactBMC: "6.10", capture.FactKernel: "5.14.0-427.el9.x86_64", capture.NICFirmware("mlx5_0"): "28.39.1002",
		"nic.mlx5_0.numa": "1", "nic.mlx5_0.port.1.rate": "400 Gb/sec (4X NDR)", "net.eth0.speed_mbps": "25000", "gpu.0.numa": "0", "gpu.0.cpus": "0-47",
	} {
		require.Equal(t, want, v.Value(name), name)
	}
	require.Empty(t, v.Value("net.lo.speed_mbps"))
	require.Contains(t, v.Missing, capture.Missing{Name: "board.name", Why: "no such file"})
	require.Contains(t, v.Missing, capture.Missing{Name: "net.eth1.numa", Why: "not known to the kernel"})
	require.Equal(t, int32(97), v.CPUs)
	require.Equal(t, int64(2113461232)<<10, v.Memory)
}

func TestProcess(t *testing.T) {
	n := host.New(node(t))
	p := capture.Process{PID: 4242}
	n.Process(&p, true)
	require.Equal(t, "py) thon", p.Name)
	require.Equal(t, "918273", p.Job)
	require.Equal(t, int64(4096), *p.Read)
	require.Equal(t, int64(8192), *p.Written)
	again := capture.Process{PID: 4242}
	n.Process(&again, false)
	require.Equal(t, p, again)
	gone := capture.Process{PID: 1}
	n.Process(&gone, true)
	require.Equal(t, capture.Process{PID: 1}, gone)
}

// A number that is given to another process is not taken for the one before.
func TestProcessNumberUsedAgain(t *testing.T) {
	root := node(t)
	n := host.New(root)
	p := capture.Process{PID: 4242}
	n.Process(&p, true)
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc/4242/stat"), []byte("4242 (sh) S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 778 1 1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc/4242/cgroup"), []byte("0::/user.slice\n"), 0o600))
	p = capture.Process{PID: 4242}
	n.Process(&p, true)
	require.Equal(t, "sh", p.Name)
	require.Empty(t, p.Job)
}

func TestCgroup(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for text, want := range map[string][2]string{
		"0::/system.slice/slurmstepd.scope/job_77/step_batch/user/task_special\n":            {"77", ""},
		"0::/system.slice/gpu7_slurmstepd.scope/job_77/step_1\n":                             {"77", ""},
		"11:devices:/slurm/uid_1000/job_42/step_0\n4:memory:/slurm/uid_1000/job_42/step_0\n": {"42", ""},
		"5:cpuset:/slurm_node7/uid_0/job_9\n":                                                {"9", ""},
		"0::/system.slice/docker-" + id + ".scope\n":                                         {"", "0123456789ab"},
		"12:pids:/docker/" + id + "\n":                                                       {"", "0123456789ab"},
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f3a5c1e_1b2c_4d5e_8f90_a1b2c3d4e5f6.slice/cri-containerd-" + id + ".scope\n": {"", "0f3a5c1e-1b2c-4d5e-8f90-a1b2c3d4e5f6/0123456789ab"},
		"0::/kubepods/besteffort/pod0f3a5c1e-1b2c-4d5e-8f90-a1b2c3d4e5f6/" + id + "\n":                                                                   {"", "0f3a5c1e-1b2c-4d5e-8f90-a1b2c3d4e5f6/0123456789ab"},
		"0::/user.slice/user-1000.slice/session-3.scope\n":                                                                                               {"", ""},
		"0::/home/job_5/x\n": {"", ""},
		"garbage":            {"", ""},
	} {
		job, inside := host.Cgroup(text)
		require.Equal(t, want, [2]string{job, inside}, text)
	}
}
