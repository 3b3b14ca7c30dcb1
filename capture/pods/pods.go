// Package pods asks the kubelet of a node which pods hold which devices, through its socket for pod resources. It must not know what is
// done with the answer.
package pods

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Socket is where a kubelet listens, below the root of its node.
const Socket = "var/lib/kubelet/pod-resources/kubelet.sock"

// Device is one that a container holds. An ID is that of the plugin of its vendor: for NVIDIA's the UUID of a GPU or of an instance of MIG,
// with :: and a number behind it where a GPU is shared.
type Device struct {
	Resource, ID   string
	Namespace, Pod string
	Container      string
}

// mostBytes bounds an answer. A node runs some hundred pods, each with some hundred bytes.
const mostBytes = 16 << 20

// Client asks one kubelet.
type Client struct{ http *http.Client }

// New is a client of the socket at a path. It connects when it asks.
func New(socket string) *Client {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		Protocols: new(http.Protocols),
	}
	t.Protocols.SetUnencryptedHTTP2(true) // what gRPC is, over a socket of the node
	return &Client{&http.Client{Transport: t}}
}

// List asks for the devices of all containers, by v1.PodResourcesLister/List.
func (c *Client) List(ctx context.Context) ([]Device, error) {
	const empty = "\x00\x00\x00\x00\x00" // not compressed, of no bytes
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://kubelet/v1.PodResourcesLister/List", bytes.NewReader([]byte(empty)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > mostBytes {
		return nil, fmt.Errorf("the kubelet answers more than %d B", mostBytes)
	}
	status, why := answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
	if status == "" {
		status, why = answer.Header.Get("Grpc-Status"), answer.Header.Get("Grpc-Message")
	}
	if answer.StatusCode != http.StatusOK || status != "0" {
		return nil, fmt.Errorf("the kubelet answers %s, status %q of gRPC: %s", answer.Status, status, why)
	}
	if len(body) < len(empty) || body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:])) != int64(len(body)-len(empty)) {
		return nil, errors.New("the kubelet answers something else than one message of gRPC")
	}
	return read(body[len(empty):])
}

// Numbers of fields in the definition of the kubelet, pkg/apis/podresources/v1/api.proto.
const (
	listPods         = 1 // of ListPodResourcesResponse
	podName          = 1 // of PodResources
	podNamespace     = 2
	podContainers    = 3
	containerName    = 1 // of ContainerResources
	containerDevices = 2
	deviceResource   = 1 // of ContainerDevices
	deviceIDs        = 2
)

// read reads a ListPodResourcesResponse. Fields of later versions are passed over.
func read(message []byte) (all []Device, err error) {
	return all, fields(message, func(number uint64, pod []byte) error {
		if number != listPods {
			return nil
		}
		var d Device
		var containers [][]byte
		err := fields(pod, func(number uint64, value []byte) error {
			switch number {
			case podName:
				d.Pod = string(value)
			case podNamespace:
				d.Namespace = string(value)
			case podContainers:
				containers = append(containers, value)
			}
			return nil
		})
		for _, c := range containers {
			err = errors.Join(err, devices(c, d, &all))
		}
		return err
	})
}

// devices adds those of a container of the pod that is named.
func devices(container []byte, d Device, all *[]Device) error {
	var held [][]byte
	err := fields(container, func(number uint64, value []byte) error {
		switch number {
		case containerName:
			d.Container = string(value)
		case containerDevices:
			held = append(held, value)
		}
		return nil
	})
	for _, h := range held {
		var ids []string
		err = errors.Join(err, fields(h, func(number uint64, value []byte) error {
			switch number {
			case deviceResource:
				d.Resource = string(value)
			case deviceIDs:
				ids = append(ids, string(value))
			}
			return nil
		}))
		for _, id := range ids {
			d.ID = id
			*all = append(*all, d)
		}
	}
	return err
}

var errMessage = errors.New("the answer of the kubelet is no message of protobuf")

// fields walks the fields of a message of protobuf, and hands over those of bytes.
func fields(message []byte, of func(number uint64, value []byte) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return errMessage
		}
		message = message[n:]
		skip := uint64(0)
		switch tag & 7 {
		case 0: // a whole number
			if _, n = binary.Uvarint(message); n <= 0 {
				return errMessage
			}
			skip = uint64(n)
		case 1:
			skip = 8
		case 2: // bytes
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return errMessage
			}
			message = message[n:]
			if err := of(tag>>3, message[:length]); err != nil {
				return err
			}
			skip = length
		case 5:
			skip = 4
		default:
			return errMessage
		}
		if skip > uint64(len(message)) {
			return errMessage
		}
		message = message[skip:]
	}
	return nil
}
