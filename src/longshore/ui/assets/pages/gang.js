import { View } from "../lib/view.js";
customElements.define("ls-gang", class extends View {});
