// Sets the colours before the first paint: those chosen, else the system's. A script of its own, because a module
// would come too late.
{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = () => {
    const chosen = localStorage.getItem("longshore.theme");
    document.documentElement.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : dark.matches ? "dark" : "light";
    dispatchEvent(new Event("themechange"));
  };
  dark.addEventListener("change", set);
  addEventListener("storage", set);
  addEventListener("longshore:theme", set);
  set();
}
