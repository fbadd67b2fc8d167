"""browser_navigate: where it led, what was wrong, and what it refuses."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from tests.browser.agent import AgentBrowser
from tests.browser.site import REPORT


def test_it_says_where_it_ended_the_title_and_the_status(browser: AgentBrowser) -> None:
    answer = browser.go("/redirect")

    assert answer.text == f'{browser.site.near}/plain.html "Plain" · HTTP 200'
    assert answer.meta["url"] == f"{browser.site.near}/plain.html"
    assert answer.meta["title"] == "Plain"
    assert answer.meta["navigated"] == [f"{browser.site.near}/plain.html"]


def test_a_page_that_is_not_there_is_shown_with_its_status(browser: AgentBrowser) -> None:
    assert browser.go("/none").text.endswith('"Not found" · HTTP 404')


def test_a_page_whose_leaving_never_ends_is_left(browser: AgentBrowser) -> None:
    browser.go("/stay.html")
    browser.run("document.body.click()")

    answer = browser.go("/plain.html")

    assert answer.text.startswith(f'{browser.site.near}/plain.html "Plain" · HTTP 200\n[the tab at ')
    assert "did not answer" in answer.text
    assert 'heading "Plain page"' in browser.snapshot()


def test_a_loopback_address_without_a_scheme_gets_http(browser: AgentBrowser) -> None:
    answer = browser.go(browser.site.near.removeprefix("http://") + "/plain.html")

    assert answer.meta["url"] == f"{browser.site.near}/plain.html"


def test_another_host_without_a_scheme_gets_https(browser: AgentBrowser) -> None:
    answer = browser.go("no-such-host.invalid/page")

    assert answer.text.startswith("https://no-such-host.invalid/page: net::ERR_")


def test_a_refused_connection_is_a_result_with_the_net_error(browser: AgentBrowser) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = probe.getsockname()[1]

    answer = browser.go(f"http://127.0.0.1:{closed}/")

    assert "net::ERR_CONNECTION_REFUSED" in answer.text
    assert "the page now shown: " in answer.text
    assert browser.go("/plain.html").meta["title"] == "Plain"


def test_a_redirect_loop_is_a_result_with_the_net_error(browser: AgentBrowser) -> None:
    assert "net::ERR_TOO_MANY_REDIRECTS" in browser.go("/redirect-loop").text


def test_a_certificate_error_is_a_result_with_the_net_error(browser: AgentBrowser, tmp_path: Path) -> None:
    port = serve_one_tls_handshake(tmp_path)

    answer = browser.go(f"https://127.0.0.1:{port}/")

    assert "net::ERR_CERT" in answer.text


def test_an_answer_without_content_leaves_the_page(browser: AgentBrowser) -> None:
    browser.go("/plain.html")

    answer = browser.go("/204")

    assert "net::ERR_ABORTED" in answer.text
    assert browser.run("return document.title") == "Plain"


def test_a_download_is_told_and_lies_in_home(browser: AgentBrowser) -> None:
    answer = browser.go("/report.csv")

    file = browser.home.path / "downloads" / "report.csv"
    assert f"download {file} ({len(REPORT)} bytes)" in answer.text
    assert file.read_bytes() == REPORT
    assert answer.meta["download"][0]["path"] == str(file)
    file.unlink()


def test_a_server_can_not_name_a_download_out_of_the_downloads_folder(browser: AgentBrowser) -> None:
    answer = browser.go("/evil")

    (saved,) = answer.meta["download"]
    assert Path(saved["path"]).parent == browser.home.path / "downloads"
    assert not (browser.home.top / "evil.txt").exists()


def test_a_page_that_never_ends_is_still_loading_and_can_be_used(browser: AgentBrowser) -> None:
    answer = browser.go("/half")

    assert answer.text.startswith("still loading after 15 s")
    assert 'heading "Half a page"' in browser.snapshot()


def test_a_server_that_never_answers_leaves_the_page_in_use(browser: AgentBrowser) -> None:
    browser.go("/plain.html")

    answer = browser.go("/never")

    assert answer.text.startswith("still loading after 15 s")
    assert 'heading "Plain page"' in browser.snapshot()


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "javascript:document.title='taken'",
        " JavaScript:alert(1)",
        "chrome://version",
        "devtools://devtools/bundled/inspector.html",
        "view-source:http://127.0.0.1/",
        "blob:http://127.0.0.1/x",
        "about:version",
        "ftp://127.0.0.1/",
        "http://",
        "/plain.html",
        "java\nscript:alert(1)",
    ],
)
def test_an_address_of_another_kind_is_refused_and_the_page_stays(browser: AgentBrowser, address: str) -> None:
    browser.go("/plain.html")

    answer = browser.call("navigate", url=address)

    assert answer.code == "invalid_arguments"
    assert browser.run("return document.title") == "Plain"


def test_a_data_address_opens(browser: AgentBrowser) -> None:
    assert browser.go("data:text/html,<title>Own</title>").meta["title"] == "Own"


def serve_one_tls_handshake(folder: Path) -> int:
    """A port whose certificate nobody has signed."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-days", "2"]
    made = ["-newkey", "rsa:2048", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", "-nodes", *made, *subject], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
                context.wrap_socket(connection, server_side=True).close()
            except ssl.SSLError:
                continue
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])
