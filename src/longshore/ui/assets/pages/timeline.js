import { View } from "../lib/view.js";
customElements.define("ls-timeline", class extends View {});
