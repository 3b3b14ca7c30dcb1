package pods_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture/pods"
)

// field is one of bytes.
func field(number byte, value ...byte) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(value))), value...)
}

func text(number byte, s string) []byte { return field(number, []byte(s)...) }

func message(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// response is what a kubelet says of two pods: one with two containers, of which one holds two GPUs and a network device, and one that holds
// nothing. Fields of whole numbers and of 64 bits, as later versions may have, stand between.
func response() []byte {
	gpus := message(text(1, "nvidia.com/gpu"), text(2, "GPU-a"), text(2, "GPU-b"), []byte{4 << 3, 0x96, 1})
	nic := message(text(1, "rdma/hca"), text(2, "mlx5_0"))
	train := message(text(1, "train"), field(2, gpus...), field(2, nic...), []byte{9<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8})
	pod := message(text(1, "job-0"), text(2, "ml"), field(3, message(text(1, "log"))...), field(3, train...))
	return message(field(1, pod...), field(1, message(text(1, "web"), text(2, "shop"))...))
}

// kubelet answers at a socket with a frame and a status.
func kubelet(t *testing.T, frame []byte, status string) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "k.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := &http.Server{Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1.PodResourcesLister/List" || r.ProtoMajor != 2 || r.Header.Get("Content-Type") != "application/grpc" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		_, _ = w.Write(frame)
		w.Header().Set("Grpc-Status", status)
		w.Header().Set("Grpc-Message", "why not")
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}

func framed(m []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}

func TestList(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	c := pods.New(kubelet(t, framed(response()), "0"))
	for range 2 {
		got, err := c.List(ctx)
		require.NoError(t, err)
		of := func(resource, id string) pods.Device {
			return pods.Device{Resource: resource, ID: id, Namespace: "ml", Pod: "job-0", Container: "train"}
		}
		require.Equal(t, []pods.Device{of("nvidia.com/gpu", "GPU-a"), of("nvidia.com/gpu", "GPU-b"), of("rdma/hca", "mlx5_0")}, got)
	}
	_, err := pods.New(kubelet(t, nil, "12")).List(ctx)
	require.ErrorContains(t, err, `status "12" of gRPC: why not`)
	_, err = pods.New(kubelet(t, framed(response())[1:], "0")).List(ctx)
	require.ErrorContains(t, err, "something else than one message")
	_, err = pods.New(filepath.Join(t.TempDir(), "none.sock")).List(ctx)
	require.ErrorContains(t, err, "no such file")
	for cut := 1; cut < len(response()); cut++ { // no cut panics; a cut at the end of a pod is a message
		_, _ = pods.New(kubelet(t, framed(response()[:cut]), "0")).List(ctx)
		if cut > 40 {
			break
		}
	}
	_, err = pods.New(kubelet(t, framed(response()[:5]), "0")).List(ctx)
	require.ErrorContains(t, err, "no message of protobuf")
}
