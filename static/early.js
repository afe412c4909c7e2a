
// Runs in the head, before anything is painted, so that nothing moves: the reader's
// framework, machine and colours, from the address, from storage, or the first of each.
((root, known) => {
  const address = new URLSearchParams(location.search);
  const kept = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage is blocked
    }
  };
  for (const [key, values] of Object.entries(known)) {
    const wanted = [address.get(key), kept(key)];
    root.dataset[key] = wanted.find((value) => values.includes(value)) ?? values[0];
  }
  root.classList.replace("no-js", "js");
})(document.documentElement, KNOWN);
