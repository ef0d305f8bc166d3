import { View } from "../lib/view.js";
customElements.define("ls-queue", class extends View {});
