"""The packages, made and judged: packages_suite.py ROOT BUILD [TOPIC]. Ends with 77 where tools are missing.

Packages makes them twice of one build. BareDebian installs them in a bare Debian 12, uses, upgrades and purges them; it
needs root, debootstrap and a mirror. Service compares what systemd says of the unit with docs/packages.md. Booted runs
the unit under a systemd that boots in namespaces of its own, which needs root."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT, BUILD = map(pathlib.Path, sys.argv[1:3])
TOPIC = sys.argv[3] if len(sys.argv) > 3 else ""
TOOLS = {"Packages": ["cpack", "help2man", "dpkg-shlibdeps", "lintian", "patchelf"],
         "BareDebian": ["cpack", "help2man", "dpkg-shlibdeps", "debootstrap"]}
NAMES = ("tandem", "libtandem0", "libtandem-dev", "python3-tandem")
DATE = "1700000000"
MODEL = ROOT / "tests" / "data" / "tiny-models" / "stories260K-F16.gguf"


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


for tool in TOOLS.get(TOPIC, []):
    if not shutil.which(tool):
        skip(f"{tool} is not installed (./dev setup package)")
if TOPIC in ("BareDebian", "Booted") and os.getuid() != 0:
    skip("a chroot needs root")
if TOPIC == "Booted" and not os.access("/lib/systemd/systemd", os.X_OK):
    skip("systemd is not installed")
if TOPIC not in ("Service", "Booted") and not (BUILD / "python" / "tandem").is_dir():
    skip("the Python package is not built (./dev setup python)")


def said_by(*command, **more):
    answer = subprocess.run(command, capture_output=True, text=True, **more)
    if answer.returncode:
        raise AssertionError(f"{command}: {answer.returncode}\n{answer.stdout[-3000:]}\n{answer.stderr[-3000:]}")
    return answer.stdout


def make(folder, release="1"):
    """{name: file} of the packages."""
    said_by("cpack", "-G", "DEB", "-B", str(folder), "-D", f"CPACK_DEBIAN_PACKAGE_RELEASE={release}", cwd=BUILD,
            env=os.environ | {"SOURCE_DATE_EPOCH": DATE})
    shutil.rmtree(pathlib.Path(folder, "_CPack_Packages"))
    return {path.name.split("_")[0]: path for path in sorted(pathlib.Path(folder).glob("*.deb"))}


def field(package, name):
    return said_by("dpkg-deb", "-f", str(package), name).strip()


class Service(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd")
    def test_has_the_exposure_and_the_lines_of_its_page(self):
        said = said_by("systemd-analyze", "security", "--offline=yes", "--no-pager", str(ROOT / "packaging" / "tandem.service"))
        page = (ROOT / "docs" / "packages.md").read_text().replace("\\|", "|")
        lines = [line.split()[1] for line in said.splitlines() if line.startswith("✗")]
        self.assertGreater(len(lines), 3)
        table = page.partition("| line that remains | why |")[2]
        self.assertEqual(sorted(re.findall(r"(?m)^\| `(.+?)` \|", table)), sorted(lines))
        self.assertIn(f"says {re.search(r'tandem.service: ([0-9.]+)', said).group(1)} (", " ".join(page.split()))

    def test_opens_the_files_of_gpus_and_no_others(self):
        unit = (ROOT / "packaging" / "tandem.service").read_text()
        self.assertIn("DevicePolicy=closed", unit)
        self.assertEqual(set(re.findall(r"DeviceAllow=(\S+)", unit)),
                         {"char-drm", "char-kfd", "char-nvidia-frontend", "char-nvidia-uvm"})
        for rule in ("DynamicUser=yes", "ProtectSystem=strict", "ProtectHome=yes", "LoadCredential=api-key:"):
            self.assertIn(rule, unit)


class Booted(unittest.TestCase):
    """The unit as it is, with the program of this build."""

    def tree(self, folder):
        """The files of the package, a model, and a key that root alone may read."""
        tree = pathlib.Path(folder, "tree")
        for source, place in ((BUILD / "tandem", "usr/bin"), (BUILD / "tandem-prove", "usr/libexec/tandem"), (MODEL, "srv"),
                              (ROOT / "packaging" / "tandem.service", "usr/lib/systemd/system"),
                              (ROOT / "packaging" / "serve.conf", "etc/tandem")):
            (tree / place).mkdir(parents=True, exist_ok=True)
            shutil.copy(source, tree / place)
        with (tree / "etc/tandem/serve.conf").open("a") as conf:
            conf.write(f"TANDEM_MODEL=/srv/{MODEL.name}\nTANDEM_FLAGS=--device host --plan host-only\n")
        (tree / "etc/tandem/api-key").write_text("a-key\n")
        (tree / "etc/tandem/api-key").chmod(0o600)
        # The script of the package makes the groups that the unit names. So they are not there before.
        for name in ("group", "gshadow"):
            lines = pathlib.Path("/etc", name).read_text().splitlines(keepends=True)
            (tree / "etc" / name).write_text("".join(line for line in lines if not line.startswith(("render:", "video:"))))
        shutil.copy(ROOT / "packaging" / "control" / "program" / "postinst", tree / "postinst")
        return tree

    def boot(self, folder):
        command = ["unshare", "--fork", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "--kill-child", "bash",
                   str(ROOT / "tests" / "packaging" / "boot.sh"), folder, str(self.tree(folder))]
        with pathlib.Path(folder, "boot.log").open("w") as log:
            machine = subprocess.Popen(command, stdout=log, stderr=log)
        self.addCleanup(machine.wait)
        self.addCleanup(machine.kill)
        for _ in range(300):
            time.sleep(0.1)
            first = pathlib.Path(f"/proc/{machine.pid}/task/{machine.pid}/children").read_text().split()
            if machine.poll() is not None:
                break
            if first and self.inside(first[0], "systemctl is-system-running").stdout.strip() in ("running", "degraded"):
                return first[0]
        return self.skipTest("systemd cannot boot here: " + pathlib.Path(folder, "boot.log").read_text()[-300:])

    @staticmethod
    def inside(first, command):
        return subprocess.run(["nsenter", "-t", first, "-p", "-m", "-u", "-i", "-C", "-r", "sh", "-c", "cd /; " + command],
                              capture_output=True, text=True, check=False)

    def test_the_service_answers_those_who_have_its_key_and_ends_properly(self):
        with tempfile.TemporaryDirectory() as folder:
            first = self.boot(folder)
            ask = "curl -s --max-time 5 http://127.0.0.1:8080"
            self.inside(first, "sh /postinst configure; systemctl start tandem")
            log = "systemctl status --no-pager tandem; journalctl --no-pager -u tandem | tail -n 20"
            for _ in range(300):
                if '"ok"' in self.inside(first, f"{ask}/health").stdout:
                    break
                time.sleep(0.2)
            else:
                self.fail(self.inside(first, log).stdout)
            said = self.inside(first, f"{ask}/v1/completions -H 'Authorization: Bearer a-key' -H 'Content-Type: application/json'"
                                      " -d '{\"prompt\": \"Once upon a time\", \"max_tokens\": 4}'").stdout
            self.assertIn("completion_tokens", said, said)
            self.assertIn("invalid_api_key", self.inside(first, f"{ask}/v1/models").stdout)
            user = self.inside(first, "ps -o user= -C tandem").stdout.split()
            self.assertTrue(user and "root" not in user, user)
            self.assertEqual(self.inside(first, "cat /etc/tandem/api-key | wc -c; ls -d /var/cache/private/tandem").stdout.split(),
                             ["6", "/var/cache/private/tandem"])
            ended = self.inside(first, "systemctl stop tandem; systemctl show tandem -p Result -p ExecMainStatus").stdout
            self.assertEqual(sorted(ended.split()), ["ExecMainStatus=0", "Result=success"], self.inside(first, log).stdout)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.packages = make(pathlib.Path(cls.folder.name, "first"))

    def files(self, name):
        lines = said_by("dpkg-deb", "-c", str(self.packages[name])).splitlines()
        return {line.split()[5].lstrip(".") for line in lines if not line.endswith("/")}

    def test_are_four(self):
        self.assertEqual(set(self.packages), set(NAMES))

    def test_have_the_same_bytes_twice(self):
        again = make(pathlib.Path(self.folder.name, "second"))
        for name in NAMES:
            first, second = (hashlib.sha256(each[name].read_bytes()).hexdigest() for each in (self.packages, again))
            self.assertEqual(first, second, name)

    def test_need_what_they_are_linked_to(self):
        needs = field(self.packages["tandem"], "Depends")
        for library in ("libc6", "passwd", "libspdlog", "libpcre2-8-0", "ocl-icd-libopencl1", "libvulkan1"):
            self.assertIn(library, needs)
        self.assertIn("pocl-opencl-icd", field(self.packages["tandem"], "Recommends"))
        self.assertIn("mesa-vulkan-drivers", field(self.packages["tandem"], "Suggests"))
        self.assertRegex(field(self.packages["libtandem-dev"], "Depends"), r"libtandem0 \(= [\d.]+-1\)")
        self.assertIn("python3-numpy", field(self.packages["python3-tandem"], "Depends"))

    def test_have_pages_completion_unit_and_licences(self):
        files = self.files("tandem")
        for path in ("/usr/bin/tandem", "/usr/libexec/tandem/tandem-prove", "/usr/share/man/man1/tandem-serve.1.gz",
                     "/usr/share/bash-completion/completions/tandem", "/usr/lib/systemd/system/tandem.service",
                     "/etc/tandem/serve.conf"):
            self.assertIn(path, files)
        for name in NAMES:
            self.assertIn(f"/usr/share/doc/{name}/copyright", self.files(name))
            self.assertFalse([path for path in self.files(name) if path.endswith((".gguf", ".safetensors"))])
        with tempfile.TemporaryDirectory() as folder:
            said_by("dpkg-deb", "-x", str(self.packages["tandem"]), folder)
            text = pathlib.Path(folder, "usr/share/doc/tandem/copyright").read_text()
        for words in ("The Tandem authors", "nlohmann-json3-dev", "libcli11-dev", "libboost1.74-dev", "libpcre2-8-0"):
            self.assertIn(words, text)

    def test_please_lintian(self):
        # A build without DEBEMAIL has an address whose host exists nowhere, which is the point of it.
        answer = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", "--suppress-tags", "bogus-mail-host",
                                 *map(str, self.packages.values())], capture_output=True, text=True)
        self.assertEqual([line for line in answer.stdout.splitlines() if line.startswith("E:")], [])

    def test_the_archive_runs_anywhere_and_names_its_glibc(self):
        folder = pathlib.Path(self.folder.name, "archive")
        archives = []
        for name in ("one", "two"):
            said_by("bash", str(ROOT / "packaging" / "archive.sh"), str(ROOT), str(BUILD), str(folder / name),
                    env=os.environ | {"SOURCE_DATE_EPOCH": DATE})
            archives += (folder / name).glob("*.tar.gz")
        self.assertEqual(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in archives))
        said_by("tar", "-xzf", str(archives[0]), "-C", str(folder))
        tree = folder / archives[0].name.removesuffix(".tar.gz")
        self.assertIn("tandem ", said_by(str(tree / "bin" / "tandem"), "--version", env={"PATH": "/usr/bin:/bin"}))
        loaded = said_by("ldd", str(tree / "bin" / "tandem"))
        self.assertRegex(loaded, r"libspdlog\S+ => \S*/lib/tandem/libspdlog")
        named = re.search(r"glibc ([\d.]+) or newer", (tree / "README.txt").read_text()).group(1)
        asked = re.findall(r"GLIBC_([\d.]+)", said_by("objdump", "-T", str(tree / "bin" / "tandem")))
        self.assertLessEqual(max(tuple(map(int, each.split("."))) for each in asked), tuple(map(int, named.split("."))))


class BareDebian(unittest.TestCase):
    """One machine in a folder, made and removed by tests/fresh_machine.sh, which runs commands in it."""

    def test_installs_uses_upgrades_and_purges(self):
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            folder = pathlib.Path(folder)
            old = [path.name for path in make(folder / "old").values()]
            new = [path.name for path in make(folder / "new", "2").values()]
            shutil.copy(MODEL, folder / "model.gguf")
            answer = subprocess.run(["bash", str(ROOT / "tests" / "fresh_machine.sh"), *self.commands(old, new)],
                                    env=os.environ | {"CARRY": str(folder)}, capture_output=True, text=True)
        if "debootstrap)" in answer.stdout or "no bookworm mirror" in answer.stderr:
            self.skipTest("a bare Debian cannot be made here: " + answer.stderr[-300:])
        self.assertIn("fresh_machine: PASS", answer.stdout, answer.stdout[-3000:] + answer.stderr[-3000:])

    @staticmethod
    def commands(old, new):
        install = "apt-get -q update && apt-get -q -y --no-install-recommends install"
        run = "tandem run -q -m /carried/model.gguf -p Once -n 8 --device host --plan host-only"
        c_program = "gcc examples/c/one_text.c -o /tmp/one $(pkg-config --cflags --libs tandem) && /tmp/one /carried/model.gguf Once"
        python = "/usr/bin/python3 -c 'import tandem; print(tandem.Model.load(\"/carried/model.gguf\", device=\"host\").generate(\"Once\", predict=8).text)'"
        return [f"{install} {' '.join('/carried/old/' + name for name in old)} gcc",
                f"test \"$({run})\"", python, c_program, "test -s /usr/share/man/man1/tandem-serve.1.gz || test -d /etc/dpkg/dpkg.cfg.d",
                "echo '# mine' >>/etc/tandem/serve.conf",
                f"{install} {' '.join('/carried/new/' + name for name in new)}",
                "dpkg -s tandem | grep -q 'Version: .*-2$' && grep -q mine /etc/tandem/serve.conf", f"test \"$({run})\"",
                "apt-get -q -y purge tandem libtandem0 libtandem-dev python3-tandem",
                "! find / -xdev -path /carried -prune -o -path /root -prune -o -path /proc -prune -o -path /var/log -prune -o "
                "-name '*tandem*' -print | grep ."]


if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], *([TOPIC] if TOPIC else [])], exit=False).result
    if result.testsRun and len(result.skipped) == result.testsRun:
        skip(result.skipped[0][1])
    sys.exit(not result.wasSuccessful() or not result.testsRun)
