#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev hunt distributions [NAME[:KIND]...]: make a bare root of each distribution, put this tree into it, and run
# tests/hunt/newcomer.sh there, with gcc and with clang. Then build the packages, install them and use them. Everything that a
# build needs is installed by ./dev, as on a newcomer's machine.
#
#   NAME                   debian-12, debian-13, ubuntu-22.04, ubuntu-24.04; without any, all of them
#   KIND                   gcc, clang or package; without it, all three
#   RUNG_DEBIAN_MIRROR     where packages come from, if not from the distribution's own server
#   RUNG_UBUNTU_MIRROR
#   RUNG_UBUNTU_KEYRING    Ubuntu's archive keyring, if it is not in /usr/share/keyrings (package ubuntu-keyring)
#   RUNG_TRUST_MIRROR=1    go on without a keyring: the signature of what is installed first is then not checked
#   RUNG_EXTRA_CA          a PEM file of certificate authorities that npm and pip trust in the roots, behind a proxy that opens TLS
#
# http_proxy, https_proxy and no_proxy are handed on. Roots are made below TMPDIR (2 GB each, one at a time) and removed.
# Exit code: 0 all were tested and passed, 1 something failed, 2 wrong usage, 77 nothing failed but something was not tested.
# needs: debootstrap curl=curl
set -euo pipefail

all=(debian-12 debian-13 ubuntu-22.04 ubuntu-24.04)
declare -A suites=([debian-12]=bookworm [debian-13]=trixie [ubuntu-22.04]=jammy [ubuntu-24.04]=noble)
debian_mirror=${RUNG_DEBIAN_MIRROR:-http://deb.debian.org/debian}
ubuntu_mirror=${RUNG_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
ubuntu_keyring=${RUNG_UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}

runs=()
for word in "${@:-${all[@]}}"; do
    name=${word%%:*} kinds="gcc clang package"
    if [[ $word == *:* ]]; then kinds=${word#*:}; fi
    if [[ -z ${suites[$name]:-} || ! $kinds =~ ^(gcc|clang|package|gcc clang package)$ ]]; then
        echo "distributions: what is $word? There are: ${all[*]}, each with :gcc, :clang or :package behind it if you like" >&2
        exit 2
    fi
    runs+=("$name:$kinds")
done

if (( EUID != 0 )); then # debootstrap and chroot need it
    exec sudo --preserve-env=RUNG_DEBIAN_MIRROR,RUNG_UBUNTU_MIRROR,RUNG_UBUNTU_KEYRING,RUNG_TRUST_MIRROR,RUNG_EXTRA_CA \
        --preserve-env=TMPDIR,http_proxy,https_proxy,no_proxy bash "$0" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/rung-distributions.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
results=() failed=0 untested=0
# This tree, as it would be committed.
git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard --deduplicate |
    tar --null --ignore-failed-read -cf "$work/tree.tar" -T -

report() { # name:kind outcome
    results+=("$(printf '%-20s %s' "$1" "$2")")
    echo "== $1: $2"
}

# Mounts and processes belong to namespaces that end with the command: nothing stays mounted below the root, nothing keeps running.
alone() { nice unshare --mount --propagation private --pid --fork --kill-child -- "$@"; }

in_root() { # root NAME=VALUE... command...
    # shellcheck disable=SC2016
    alone sh -c 'root=$0; mount -t proc proc "$root/proc" && exec env -i \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} ${no_proxy:+"no_proxy=$no_proxy"} \
        ${RUNG_EXTRA_CA:+NODE_EXTRA_CA_CERTS=/etc/extra-ca.pem} ${RUNG_EXTRA_CA:+PIP_CERT=/etc/extra-ca.pem} \
        chroot "$root" env "$@"' "$@"
}

# The root of one distribution, updated, with this tree in /rung. Returns 77 where that cannot be had, and says why in $why.
make_root() { # name root
    local name=$1 root=$2 suite=${suites[$1]} mirror=$debian_mirror script=sid lines options=()
    if [[ $name == ubuntu-* ]]; then
        mirror=$ubuntu_mirror script=gutsy
        if [[ -f $ubuntu_keyring ]]; then
            options=(--keyring="$ubuntu_keyring")
        elif [[ ${RUNG_TRUST_MIRROR:-} == 1 ]]; then
            options=(--no-check-gpg)
        else
            why="no keyring $ubuntu_keyring; RUNG_UBUNTU_KEYRING names one, RUNG_TRUST_MIRROR=1 goes on without"
            return 77
        fi
    fi
    if ! curl -fsSL -m 60 -o /dev/null "$mirror/dists/$suite/Release" 2>"$work/curl"; then
        why="no answer from the mirror $mirror: $(tail -n 1 "$work/curl")"
        return 77
    fi
    if [[ -e /usr/share/debootstrap/scripts/$suite ]]; then script=$suite; fi # an older debootstrap does not know a newer suite
    alone debootstrap --variant=minbase "${options[@]}" "$suite" "$root" "$mirror" "$script" >"$work/debootstrap.log" 2>&1 || {
        tail -n 20 "$work/debootstrap.log" "$root/debootstrap/debootstrap.log" 2>/dev/null || true
        why="debootstrap failed"
        return 77
    }
    lines="deb $mirror $suite main"$'\n'"deb $mirror $suite-updates main"
    if [[ $name == ubuntu-* ]]; then lines=${lines//main/main universe}; fi # as on every installed Ubuntu
    echo "$lines" >"$root/etc/apt/sources.list"
    cp /etc/resolv.conf "$root/etc/resolv.conf" || return
    if [[ -n ${RUNG_EXTRA_CA:-} ]]; then cp "$RUNG_EXTRA_CA" "$root/etc/extra-ca.pem" || return; fi
    in_root "$root" sh -c 'apt-get -q update && apt-get -qy upgrade' >"$work/apt.log" 2>&1 || {
        tail -n 20 "$work/apt.log"
        why="apt-get failed"
        return 77
    }
    mkdir "$root/rung" && tar -xf "$work/tree.tar" -C "$root/rung"
}

try_compiler() { # root compiler
    local root=$1 compiler=$2
    if [[ $compiler == clang ]]; then
        in_root "$root" apt-get -qy install --no-install-recommends clang >"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log"; return 1; }
    fi
    in_root "$root" CC="$compiler" sh -c 'cd /rung && rm -rf build && bash tests/hunt/newcomer.sh' || return 1
    in_root "$root" sh -c "$compiler --version | head -n 1"
}

# deploy/README.md up to the start of the unit, and the first program of docs/library.md.
try_package() { # root
    # shellcheck disable=SC2016
    in_root "$1" bash -euo pipefail -c 'cd /rung
        ./dev package >/tmp/package.log 2>&1 || { tail -n 20 /tmp/package.log; exit 1; }
        apt-get -qy install ./build/package/*.deb >/tmp/install.log 2>&1 || { tail -n 20 /tmp/install.log; exit 1; }
        runuser -u rung -- rung keys create --data /var/lib/rung --role admin | grep -q "^rung_admin_"
        [[ $(stat -c "%U %a" /var/lib/rung) == "rung 700" ]]
        rung config check --config /etc/rung/rung.conf
        gcc examples/quickstart.c $(pkg-config --cflags --libs rung) -o /tmp/quickstart
        /tmp/quickstart | diff examples/quickstart.out -'
}

try() { # root kind
    if [[ $2 == package ]]; then try_package "$1"; else try_compiler "$@"; fi
}

for run in "${runs[@]}"; do
    name=${run%%:*} root=$work/$name why='' status=0
    echo "== $name: making a root"
    make_root "$name" "$root" || status=$?
    for kind in ${run#*:}; do
        if (( status != 0 )); then
            untested=$(( untested + 1 ))
            report "$name:$kind" "NOT TESTED: ${why:-no root}"
        elif try "$root" "$kind"; then
            report "$name:$kind" passed
        else
            failed=$(( failed + 1 ))
            report "$name:$kind" FAILED
        fi
    done
    rm -rf --one-file-system "$root"
done

printf '%s\n' "${results[@]}"
if (( failed )); then exit 1; fi
if (( untested )); then exit 77; fi
