// The served page's beginning.
import studio from "./studio.js";
import { startServed } from "./host.js";

startServed(document.getElementById("studio"), studio.render);
