// A token in the link of this page (#token=...) goes along to the playground.
document.getElementById('playground').hash = location.hash;
