import { View } from "../lib/view.js";
customElements.define("ls-jobflow", class extends View {});
