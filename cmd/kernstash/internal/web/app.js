// A page that shows a part is loaded anew when there is more: when all entries were looked at, or after some seconds.
if (document.querySelector("[data-looking]")) {
  const begun = Date.now();
  const look = async () => {
    try {
      const answer = await fetch("/seen");
      if (answer.ok && ((await answer.json()).done || Date.now() - begun > 5000)) {
        location.reload();
        return;
      }
    } catch {
      return; // the server has ended
    }
    setTimeout(look, 500);
  };
  setTimeout(look, 500);
}
