package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"orrery/capture/pods"
	"orrery/scheduler/model"
)

func runHere(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestVersionAndUsage(t *testing.T) {
	code, out, errs := runHere("--version")
	require.Zero(t, code, errs)
	require.Regexp(t, `^orrery-agent \S+.*, with(out)? NVML, trace schema \d+, go\S+ \w+/\w+\n$`, out)
	code, help, errs := runHere("--help")
	require.Zero(t, code)
	require.Empty(t, errs)
	for _, part := range []string{"--out DIR", "--version", "history http://HOST:9090", "Exit codes: 0 "} {
		require.Contains(t, help, part)
	}
	code, help, _ = runHere("history", "--help")
	require.Zero(t, code)
	require.Contains(t, help, "--from TIME")
	for _, args := range [][]string{{}, {"--out", "x", "more"}, {"--what"}, {"--out", "x", "--mode", "fast"}, {"--out", "x", "--source", "guess"}, {"--out", "x", "--interval", "1ms"},
		{"history"}, {"history", "http://x:9090"}, {"history", "http://x:9090", "--from", "1h", "--out", "x"}, {"history", "http://x:9090", "--from", "soon", "--out", "x.trace"},
		{"history", "x", "--from", "1h", "--out", "x.trace"}, {"history", "http://x", "--from", "1h", "--to", "2h", "--out", "x.trace"}, {"history", "http://x", "--from", "1h", "--step", "1ms", "--out", "x.trace"}} {
		code, _, errs = runHere(args...)
		require.Equal(t, exitUsage, code, "%s: %s", args, errs)
		require.True(t, strings.HasPrefix(errs, "orrery-agent: "), errs)
	}
	set, err := parse([]string{"--out", "x", "--interval", "20s"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, [2]time.Duration{40 * time.Second, 20 * time.Second}, [2]time.Duration{set.Window, set.Audit}, "windows that are not given follow the interval")
	_, err = parse([]string{"--out", "x", "--interval", "20s", "--window", "30s"}, io.Discard)
	require.ErrorContains(t, err, "window 30s")
	dir := t.TempDir()
	code, _, errs = runHere("history", "http://127.0.0.1:1", "--from", "1h", "--out", filepath.Join(dir, "h.trace"))
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "asking 127.0.0.1:1")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "what fails leaves nothing")
	code, _, errs = runHere("--out", dir, "--library", filepath.Join(dir, "none.so"))
	require.Equal(t, exitFailed, code)
	require.Regexp(t, "no NVIDIA driver|without NVML", errs)
}

// interrupting is an output that Ctrl-C comes with.
type interrupting struct{ bytes.Buffer }

func (i *interrupting) Write(p []byte) (int, error) {
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		return 0, err
	}
	time.Sleep(100 * time.Millisecond)
	return i.Buffer.Write(p)
}

// A history that is interrupted is 130 and leaves nothing, unless its bundle was there by then.
func TestInterruptedHistory(t *testing.T) {
	asked := func() {}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked()
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","Hostname":"n1"},"values":[[%d,"5"]]}]}}`,
			time.Now().Add(-30*time.Second).Unix())
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "h.trace")
	args := []string{"history", server.URL, "--from", "1m", "--out", out}
	var said interrupting
	require.Zero(t, run(args, &said, &said), "%s", said.String())
	require.DirExists(t, out)
	require.Contains(t, said.String(), "1 rows of 1 nodes")
	require.NoError(t, os.RemoveAll(out))
	asked = func() { _, _ = said.Write(nil) }
	require.Equal(t, exitInterrupted, run(args, io.Discard, io.Discard))
	require.NoDirExists(t, out)
}

// The tables of flags in CAPTURE are of flags that there are.
func TestDocumentedFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/CAPTURE.md")
	require.NoError(t, err)
	_, agent, _ := runHere("--help")
	_, history, _ := runHere("history", "--help")
	start, rest, found := strings.Cut(string(text), "\n### History\n")
	require.True(t, found)
	past, _, _ := strings.Cut(rest, "\n## ")
	for _, part := range []struct{ text, help string }{{start, agent}, {past, history}} {
		n := 0
		for _, row := range regexp.MustCompile("(?m)^\\| (`--[^|]*)\\|").FindAllStringSubmatch(part.text, -1) {
			for _, flag := range regexp.MustCompile("--[a-z-]+").FindAllString(row[1], -1) {
				require.Contains(t, part.help, flag+" ")
				n++
			}
		}
		require.Greater(t, n, 5)
	}
}

func TestInstants(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{"0s": now, "24h": now.Add(-24 * time.Hour), "2026-11-01T00:00:00+01:00": time.Date(2026, 10, 31, 23, 0, 0, 0, time.UTC)} {
		got, err := instant("--from", text, now)
		require.NoError(t, err)
		require.Equal(t, model.Time(want.UnixMicro()), got)
	}
	_, err := instant("--from", "-1h", now)
	require.Error(t, err)
}

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../capture/deploy", name))
	require.NoError(t, err)
	return string(text)
}

// The unit, the recipe and the manifest start the agent with flags that it has, and agree about what they share.
func TestDeployment(t *testing.T) {
	taken := func(args []string) *settings {
		t.Helper()
		s, err := parse(args, os.Stderr)
		require.NoError(t, err, args)
		return s
	}
	line := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(deployed(t, "orrery-agent.service"))
	require.NotNil(t, line)
	words := strings.Fields(line[1])
	require.Equal(t, "orrery-agent", filepath.Base(words[0]))
	require.True(t, strings.HasPrefix(taken(words[1:]).Out, "/var/lib/orrery/"), "the folder that the unit lets it write")

	recipe := deployed(t, "Containerfile")
	require.Contains(t, recipe, "-z,lazy", "symbols of the driver are bound when they are called")
	var command []string
	require.NoError(t, json.Unmarshal([]byte(regexp.MustCompile(`(?m)^CMD (.*)$`).FindStringSubmatch(recipe)[1]), &command))
	taken(command)
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	require.Contains(t, recipe, "golang:"+string(version[1])+"-", "the compiler that go.mod asks for")

	var set struct {
		Spec struct {
			Template struct {
				Spec struct {
					HostPID    bool `yaml:"hostPID"`
					Containers []struct {
						Args []string `yaml:"args"`
						Env  []struct {
							Name string `yaml:"name"`
						} `yaml:"env"`
						Ports []struct {
							Port int `yaml:"containerPort"`
						} `yaml:"ports"`
						Mounts []struct {
							Name string `yaml:"name"`
							Path string `yaml:"mountPath"`
						} `yaml:"volumeMounts"`
					} `yaml:"containers"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(deployed(t, "daemonset.yaml")), &set))
	pod := set.Spec.Template.Spec
	require.True(t, pod.HostPID)
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	args := slicesReplaced(c.Args, func(name string) string {
		for _, e := range c.Env {
			if e.Name == name {
				return "n1"
			}
		}
		t.Errorf("%s is not in env", name)
		return ""
	})
	s := taken(args)
	require.Equal(t, "n1:9465", s.listen)
	require.Equal(t, 9465, c.Ports[0].Port)
	paths := map[string]string{}
	for _, m := range c.Mounts {
		paths[m.Name] = m.Path
	}
	require.Equal(t, map[string]string{"telemetry": s.Out, "proc": s.Root + "/proc", "sys": s.Root + "/sys", "pods": filepath.Join(s.Root, filepath.Dir(pods.Socket))}, paths)
}

// slicesReplaced puts values into $(NAME).
func slicesReplaced(args []string, value func(string) string) (out []string) {
	for _, a := range args {
		out = append(out, regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(a, func(m string) string { return value(m[2 : len(m)-1]) }))
	}
	return out
}
