import { View } from "../lib/view.js";
customElements.define("ls-history", class extends View {});
