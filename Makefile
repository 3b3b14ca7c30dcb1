# Short names for the commands of this repository; `make` lists them. The checks
# themselves are in .ci/run, which runs all of them.

.DEFAULT_GOAL := help
.PHONY: help build test race lint vuln fuzz twin bench profile ci generate clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the binary, in bin/orrery
	go build -o bin/orrery ./cmd/orrery

test: ## all tests, the rules of the house among them
	go test ./...

race: ## the short tests of what is concurrent, under the race detector
	bash .ci/run race

lint: ## golangci-lint, as pinned in tools/lint.mod
	bash .ci/run format vet lint

vuln: ## known vulnerabilities in what the code calls
	bash .ci/run vuln

fuzz: ## every fuzz target, FUZZTIME=1000x (inputs) or 60s each
	bash .ci/run fuzz

twin: ## the naive twin on whole logs under every policy, about an hour
	ORRERY_LONG=1 go test ./sim -run TestTwinOnOracleLogs -timeout 0 -v

profile: ## cmd/orrery/default.pgo anew, which tells the compiler what is hot
	go run -trimpath ./tools/bench -n 1 -instructions=false -only easy -cpuprofile cmd/orrery/default.pgo

bench: ## the speed table
	go run -pgo=cmd/orrery/default.pgo ./tools/bench

ci: ## everything that a change must pass
	bash .ci/run

generate: ## the parts of the documents that are printed from code
	go generate ./...

clean: ## what build and replay left in this folder
	rm -rf bin out dist
