package sweep

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

func TestTemplateLines(t *testing.T) {
	s, err := Create(filepath.Join(t.TempDir(), "my study"), Options{Binary: toyBinary})
	require.NoError(t, err)
	dir := "'" + s.Dir() + "'"
	worker := []string{"/opt/orrery", "worker", s.Dir()}
	for _, c := range []struct {
		command string
		want    []string
		says    string
	}{
		{"ssh node{index} {command}", []string{"ssh node0 /opt/orrery worker " + dir, "ssh node1 /opt/orrery worker " + dir}, ""},
		{"qsub -J 0-{workers} run.sh {study} ${HOME}", []string{"qsub -J 0-2 run.sh " + dir + " ${HOME}"}, ""},
		{"run {dir}", nil, "has {dir}: write {study}, {index}, {workers} or {command}, or {study:sh}"},
	} {
		lines, err := Template{Command: c.command, Workers: 2, Worker: worker}.Lines(s.Dir())
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, lines)
	}
}

func TestTemplateCompletes(t *testing.T) {
	for name, command := range map[string]string{
		"one per worker": "exec %s # {index}",
		"submitted":      "for i in $(seq {workers}); do %s & done", // ends before its workers do
	} {
		t.Run(name, func(t *testing.T) {
			specs := toys(60, toy{MS: 5})
			s := study(t, time.Second, specs...)
			x := Template{Command: strings.Replace(command, "%s", workerLine(s), 1), Workers: 3, Poll: 20 * time.Millisecond}
			require.NoError(t, Complete(context.Background(), x, s))
			st := requireWhole(t, s, specs)
			require.GreaterOrEqual(t, st.Writers, 2)
		})
	}
}

// TestTemplateStartsAgain kills a worker of a command.
func TestTemplateStartsAgain(t *testing.T) {
	specs := toys(40, toy{MS: 20})
	s := study(t, time.Second, specs...)
	once := filepath.Join(t.TempDir(), "once")
	var log bytes.Buffer
	x := Template{Command: "mkdir " + once + " && { " + workerLine(s) + " & sleep 0.3; kill -9 $!; exit 9; }; " + workerLine(s),
		Workers: 1, Poll: 20 * time.Millisecond, Log: &log}
	require.NoError(t, Complete(context.Background(), x, s))
	requireWhole(t, s, specs)
	require.Contains(t, log.String(), "ended by exit status 9, started again")
}

func TestTemplateGivesUp(t *testing.T) {
	s := study(t, time.Second, toys(3, toy{})...)
	err := Complete(context.Background(), Template{Command: "echo no such node {index}; exit 255", Workers: 2, Poll: 10 * time.Millisecond}, s)
	require.ErrorContains(t, err, "3 times in a row")
	require.ErrorContains(t, err, "exit status 255")
	require.ErrorContains(t, err, "is: no such node")
}

func TestTemplateStops(t *testing.T) {
	s := study(t, time.Hour, toys(50, toy{MS: 50})...)
	cancelled := filepath.Join(t.TempDir(), "cancelled")
	pool, err := Template{Command: "true {index}; " + workerLine(s), Cancel: "touch " + cancelled, Workers: 2, Poll: 10 * time.Millisecond}.Start(context.Background(), s)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if st, err := s.Follow().Poll(); err == nil && st.Finished > 3 {
				break
			}
		}
		cancel()
	}()
	require.ErrorIs(t, pool.Wait(ctx), context.Canceled)
	require.NoError(t, pool.Stop())
	eventually(t, func() bool { st, err := s.Status(); return err == nil && st.Open == 0 && st.Claimed == 0 })
	require.FileExists(t, cancelled)
}

// TestKubernetesManifest reads the example of the documentation as a Job with
// one worker per index, and runs its container's command here.
func TestKubernetesManifest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "kubernetes-job.yaml"))
	require.NoError(t, err)
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			CompletionMode       string `yaml:"completionMode"`
			Completions          int
			Parallelism          int
			BackoffLimitPerIndex int `yaml:"backoffLimitPerIndex"`
			MaxFailedIndexes     int `yaml:"maxFailedIndexes"`
			Template             struct {
				Spec struct {
					RestartPolicy                 string `yaml:"restartPolicy"`
					TerminationGracePeriodSeconds int    `yaml:"terminationGracePeriodSeconds"`
					Containers                    []struct {
						Name, Image  string
						Command      []string
						VolumeMounts []struct {
							Name      string
							MountPath string `yaml:"mountPath"`
						} `yaml:"volumeMounts"`
						Resources map[string]map[string]string
					}
					Volumes []struct {
						Name string
						PVC  struct {
							ClaimName string `yaml:"claimName"`
						} `yaml:"persistentVolumeClaim"`
					}
				}
			}
		}
	}
	require.NoError(t, yaml.UnmarshalWithOptions(text, &job, yaml.Strict()), "every key is known")
	require.Equal(t, "batch/v1", job.APIVersion)
	require.Equal(t, "Job", job.Kind)
	require.Equal(t, "Indexed", job.Spec.CompletionMode)
	require.Equal(t, job.Spec.Completions, job.Spec.Parallelism, "all workers run at once")
	pod := job.Spec.Template.Spec
	require.Equal(t, "Never", pod.RestartPolicy)
	require.Len(t, pod.Containers, 1)
	box := pod.Containers[0]
	require.Equal(t, box.VolumeMounts[0].Name, pod.Volumes[0].Name)
	require.Equal(t, []string{"orrery", "worker"}, box.Command[:2])
	require.True(t, strings.HasPrefix(box.Command[2], box.VolumeMounts[0].MountPath+"/"))

	specs := toys(30, toy{MS: 2})
	s := study(t, time.Second, specs...)
	for range job.Spec.Completions {
		cmd := exec.Command("sh", "-c", workerLine(s))
		require.NoError(t, cmd.Start())
		defer func() { require.NoError(t, cmd.Wait()) }()
	}
	eventually(t, func() bool { open, err := s.openClaims(); return err == nil && open == 0 })
	requireWhole(t, s, specs)
}

// TestAwkwardPaths hands a study whose name a shell would take for more than a name to a
// shell, to a shell behind ssh, and to a script of Slurm: the worker gets it as one word.
func TestAwkwardPaths(t *testing.T) {
	bin := t.TempDir()
	ssh := "#!/bin/sh\nshift\nexec sh -c \"$*\"\n" // as sshd does it
	require.NoError(t, os.WriteFile(filepath.Join(bin, "ssh"), []byte(ssh), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Chdir(t.TempDir())
	for _, name := range []string{"plain", "a $(touch X) b", "it's", "a\"b`touch X`", "-x; touch X", "a\tb*?"} {
		dir, err := filepath.Abs(name)
		require.NoError(t, err)
		worker := []string{"printf", "<%s>", dir}
		var scripts []string
		for _, command := range []string{"{command}", "ssh node0 {command:sh}", "printf '<%s>' {study}", "ssh node0 printf \"'<%s>'\" {study:sh}", "sh -c {command:sh}"} {
			lines, err := Template{Command: command, Workers: 1, Worker: worker}.Lines(name)
			require.NoError(t, err)
			scripts = append(scripts, lines[0])
		}
		script, err := Slurm{Workers: 1, Command: worker}.Script(name, 1)
		require.NoError(t, err)
		for _, line := range append(scripts, script) {
			out, err := exec.Command("sh", "-c", line).CombinedOutput()
			require.NoError(t, err, "%s: %s", line, out)
			require.Equal(t, "<"+dir+">", string(out), line)
		}
	}
	require.NoFileExists(t, "X")
	for _, worker := range [][]string{{"a\nb"}, {"a\rb"}} {
		_, err := Template{Command: "{command}", Workers: 1, Worker: worker}.Lines("study")
		require.ErrorContains(t, err, "has a line break in it")
		_, err = Slurm{Workers: 1, Command: worker}.Script("study", 1)
		require.ErrorContains(t, err, "has a line break in it")
	}
	_, err := Slurm{Workers: 1, Command: []string{"a"}, Options: []string{"--comment=a\n#SBATCH --uid=0"}}.Script("study", 1)
	require.ErrorContains(t, err, "an option of sbatch has a line break in it")
}
