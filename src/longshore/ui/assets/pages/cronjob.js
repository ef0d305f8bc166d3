import { View } from "../lib/view.js";
customElements.define("ls-cronjob", class extends View {});
