// The rules for the dashboard's JavaScript. Text never becomes code or HTML here.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-control-regex": "off",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "describe elements with h()" },
        { property: "outerHTML", message: "describe elements with h()" },
        { property: "insertAdjacentHTML", message: "describe elements with h()" },
        { object: "document", property: "write" },
      ],
    },
  },
];
